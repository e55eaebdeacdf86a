"""`deniable serve`: pages and REST on one port, with one worker that touches data; `init`, `check`, `token` and
`worker` beside it.
"""

from __future__ import annotations

import webbrowser
from pathlib import Path
from threading import Timer
from typing import Annotated

import typer

from deniable.cli.app import application
from deniable.errors import InvalidArgument
from deniable.server.running import check_settings, draft, serve, work
from deniable.server.settings import ServerSettings

app = application("Serve data sets to people with roles: requests, grants, releases and their ledger.")

Config = Annotated[Path, typer.Option("--config", help="The server's YAML file.")]
BehindTls = Annotated[bool, typer.Option("--behind-tls", help="A proxy that speaks TLS stands before this server.")]
_USUAL = Path("server.yaml")
_DEMO = """\
tick_seconds: 1
data:
  visits: {source: visits.parquet, codebook: visits.yaml, ledger: visits.ledger, budget: {epsilon: 3, delta: 1e-6}}
people:
  owner: {roles: [owner, curator, auditor]}
  allocator: {roles: [allocator]}
  analyst: {roles: [analyst]}
"""


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    config: Config = _USUAL,
    behind_tls: BehindTls = False,
    web_only: Annotated[
        bool, typer.Option("--web-only", help="Pages and REST alone; the worker runs under another account.")
    ] = False,
) -> None:
    """Start the server (without a further word)."""
    if context.invoked_subcommand is None:
        _checked_extra()
        settings = ServerSettings.load(config, behind_tls=behind_tls, web_only=web_only)
        serve(config, settings, behind_tls=behind_tls, web_only=web_only)


@app.command()
def init(config: Config = _USUAL) -> None:
    """Write a first server.yaml, to be filled in."""
    draft(config)
    print(f"{config} is written; fill it in, then: deniable serve check --config {config}")


@app.command()
def check(config: Config = _USUAL, behind_tls: BehindTls = False) -> None:
    """Read the whole configuration and look that everything can be reached; nothing is started or spent."""
    _checked_extra()
    print("\n".join(check_settings(ServerSettings.load(config, behind_tls=behind_tls))))


@app.command()
def demo(
    folder: Annotated[
        Path, typer.Argument(help="A new folder for data, configuration and tokens.", show_default=False)
    ],
    prepare: Annotated[bool, typer.Option("--prepare", help="Write everything and start nothing.")] = False,
    browser: Annotated[bool, typer.Option("--open", help="Open the page to ask in a browser.")] = False,
) -> None:
    """A server on made-up hospital visits with three people; their tokens are files in the folder."""
    from deniable.cli import demo_data
    from deniable.engines.parquet import write_arrays
    from deniable.server.identity import Tokens

    _checked_extra()
    if folder.exists():
        raise InvalidArgument(f"{folder} is there already; give the name of a new folder")
    folder.mkdir(parents=True, mode=0o700)
    write_arrays(demo_data.visits(), folder / "visits.parquet")
    (folder / "visits.yaml").write_text(demo_data.VISITS_CODEBOOK, encoding="utf-8")
    config = folder / "server.yaml"
    config.write_text(_DEMO, encoding="utf-8")
    settings = ServerSettings.load(config)
    tokens = Tokens(settings.tokens)
    for person in settings.people:
        (folder / f"{person}.token").write_text(tokens.issue(person, days=7) + "\n", encoding="utf-8")
    address = f"{settings.public_url}/data/visits/ask"
    print(f"{address}  log in with the token in {folder / 'analyst.token'}", flush=True)
    print(f"A request waits until the allocator grants it ({folder / 'allocator.token'}).", flush=True)
    if not prepare:
        if browser:
            Timer(2, webbrowser.open, [address]).start()
        serve(config, settings, behind_tls=False)


@app.command()
def token(
    person: Annotated[str, typer.Argument(help="Whose token.", show_default=False)],
    config: Config = _USUAL,
    days: Annotated[int, typer.Option(help="Days until it ends.")] = 90,
    revoke: Annotated[bool, typer.Option("--revoke", help="Take all of the person's tokens away instead.")] = False,
) -> None:
    """A new personal token, printed this once."""
    from deniable.server.identity import Tokens

    _checked_extra()
    settings = ServerSettings.load(config, behind_tls=True)
    if person not in settings.people:
        raise InvalidArgument(f"{person!r} is not among the people of {config}; they are {', '.join(settings.people)}")
    tokens = Tokens(settings.tokens)
    print(f"{tokens.revoke(person)} tokens taken away" if revoke else tokens.issue(person, days=days))


@app.command()
def worker(config: Config = _USUAL, behind_tls: BehindTls = False) -> None:
    """Be the one process that touches data; `deniable serve` starts it by itself."""
    _checked_extra()
    work(ServerSettings.load(config, behind_tls=behind_tls))


def _checked_extra() -> None:
    try:
        import argon2  # noqa: F401
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as missing:
        raise InvalidArgument(
            f"the server needs more packages ({missing.name}): pip install 'deniable[server]'"
        ) from None
