"""`deniable completion`: what makes bash, zsh or fish complete commands and options.

Exit codes: 0 printed, 2 the command was not understood.
"""

from __future__ import annotations

from enum import Enum
from importlib import import_module
from typing import Annotated, Any

import typer

from deniable.cli.app import application

app = application("Print what makes a shell complete commands and options.")


class Shell(Enum):
    """The shells that are known."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.", show_default=False)]) -> None:
    """Print the script; for bash: deniable completion bash >> ~/.bashrc"""
    print({Shell.bash: _bash, Shell.zsh: _zsh, Shell.fish: _fish}[shell](words()))


def words() -> dict[str, list[str]]:
    """Every command, `group command` too, and the words that may follow it: its own commands or its options."""
    from deniable.cli import COMMANDS

    found: dict[str, list[str]] = {}
    for name, command in COMMANDS.items():
        built: Any = typer.main.get_command(import_module(command.module).app)
        inner = getattr(built, "commands", None)
        if inner is None:
            found[name] = _options(built)
            continue
        found[name] = sorted(inner)
        found |= {f"{name} {each}": _options(part) for each, part in inner.items()}
    return found


def _options(command: Any) -> list[str]:
    return sorted({word for option in command.params for word in option.opts if word.startswith("--")} | {"--help"})


def _bash(known: dict[str, list[str]]) -> str:
    top = sorted({name.split()[0] for name in known})
    cases = "\n".join(f'    "{name}") words="{" ".join(after)}";;' for name, after in known.items())
    return f"""_deniable() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then words="{" ".join(top)}"; else
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{cases}
  esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _deniable deniable"""


def _zsh(known: dict[str, list[str]]) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(known)


def _fish(known: dict[str, list[str]]) -> str:
    top = sorted({name.split()[0] for name in known})
    lines = [f'complete -c deniable -n __fish_use_subcommand -a "{" ".join(top)}"']
    for name, after in known.items():
        seen = " && ".join(f"__fish_seen_subcommand_from {part}" for part in name.split())
        for word in after:
            lines.append(
                f'complete -c deniable -n "{seen}" {"-l " + word[2:] if word.startswith("--") else "-a " + word}'
            )
    return "\n".join(lines)
