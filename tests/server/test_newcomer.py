"""The page's way from a Parquet file to a published release with its dossier, command for command."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from deniable.cli import demo_data
from deniable.engines.parquet import write_arrays
from deniable.ledger import verify

ROOT = Path(__file__).parents[2]
WAIT = """
for i in $(seq 300); do
  python -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1])' {url}/health 2>/dev/null && break
done
"""


def walk():
    """The commands and the codebook of the section, from the page."""
    page = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    section = page.partition("## From a Parquet file")[2].partition("\n## ")[0]
    book = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)[1]
    blocks = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()], book


@pytest.mark.slow
def test_from_a_parquet_file_to_a_published_release(tmp_path):
    commands, book = walk()
    write_arrays(demo_data.visits(), tmp_path / "visits.parquet")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    program = tmp_path / "bin" / "deniable"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deniable "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    lines = ["set -e", f'python() {{ "{sys.executable}" "$@"; }}']
    for command in commands:
        lines.append(command.replace("8000", port).replace("serve &", "serve > served.txt 2>&1 &"))
        if "codebook init" in command:
            lines.append(f"cat > visits.yaml <<'END'\n{book}END")
        if command == "deniable serve init":  # this machine's port 8000 may be somebody else's
            lines.append(f"sed -i 's/8000/{port}/; s/8000/{port}/; s/tick_seconds: 5/tick_seconds: 1/' server.yaml")
        if command.endswith("&"):
            lines += ["server=$!; trap 'kill $server; wait $server || true' EXIT", WAIT.format(url=url)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_STATE_HOME": str(tmp_path / "anchors")}
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "???" in (tmp_path / "draft.yaml").read_text(encoding="utf-8")
    assert '"state": "published"' in done.stdout
    assert "cardiology" in done.stdout
    assert "dossier.html is written" in done.stdout
    assert "blocks publication" in done.stdout
    assert "epsilon" in (tmp_path / "dossier.html").read_text(encoding="utf-8")
    assert verify(tmp_path / "visits.ledger").sound
