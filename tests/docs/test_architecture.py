"""The walk of a count on the page is a walk of the code: its files are run, and named things are where the page says."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys

from tests.docs.pages import ROOT
from tests.shape import PACKAGE

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
WALK = re.findall(r"^\d+\. `([\w/]+\.py)`: ", PAGE, flags=re.MULTILINE)
PLACES = re.findall(r"^\| where [^|]+ \| `([\w/]+\.py)`: `(\w+)` \|$", PAGE, flags=re.MULTILINE)


def test_the_walk_is_short_and_every_file_of_it_is_run() -> None:
    program = "import json; from tests.shape import walks; print(json.dumps(sorted(walks()[0])))"
    told = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 10 <= len(WALK) <= 15
    assert len(set(WALK)) == len(WALK)
    assert set(WALK) <= set(json.loads(told.stdout))


def _names(tree: ast.Module) -> set[str]:
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    targets = [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return defined | {target.id for target in targets if isinstance(target, ast.Name)}


def test_ten_named_things_are_where_the_page_says() -> None:
    assert len(PLACES) >= 10
    for file, name in PLACES:
        assert name in _names(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))), (file, name)
