"""`%%dpsql` in a real IPython shell: it charges what `session.sql` charges, shows the release, and says errors in one line."""

from __future__ import annotations

from typing import Any

import pytest

import deniable as dp
from tests.needs import require_module

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of IPython itself, on newer Pythons

_BOOK = {
    "unit": {"id": "who", "groups": 2, "rows_per_group": 2},
    "table": "visits",
    "variables": {"who": "integer", "ward": {"type": "string", "categories": ["A", "B"]}},
}


@pytest.fixture
def shell(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    require_module("IPython")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    shell = InteractiveShell(config=settings)
    rows = {"who": list(range(200)), "ward": ["AB"[n % 2] for n in range(200)]}
    shell.user_ns["session"] = dp.Dataset(rows, codebook=_BOOK).session(dp.budget(epsilon=1))
    assert shell.run_cell("%load_ext deniable").success
    return shell


def _ran(shell: Any, cell: str) -> Any:
    done = shell.run_cell(cell)
    assert done.success, done.error_in_exec
    return done.result


def test_a_cell_is_charged_and_shown(shell: Any) -> None:
    cell = "%%dpsql --epsilon 0.25\nSELECT ward, COUNT(*) AS n\nFROM visits GROUP BY ward"
    release = _ran(shell, cell)
    assert isinstance(release, dp.Release)
    assert [group[0] for group in release.groups] == ["A", "B"]
    assert "<table>" in release._repr_html_()
    session = shell.user_ns["session"]
    assert session.spent.loss == 0.25
    assert _ran(shell, cell).table == release.table
    assert session.spent.loss == 0.25, "the same cell again is the stored answer"


def test_a_named_session_and_a_named_result(shell: Any) -> None:
    shell.user_ns["other"] = shell.user_ns.pop("session")
    _ran(shell, "%%dpsql other --epsilon 0.5 --dialect postgres --into counts\nSELECT COUNT(*) AS n FROM visits")
    assert abs(_ran(shell, "counts.value('n')") - 200) < 200
    assert "EXPLAIN" not in str(_ran(shell, "%%dpsql other\nEXPLAIN DP SELECT COUNT(*) FROM visits"))
    assert shell.user_ns["other"].spent.loss == 0.5


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%dpsql nobody\nSELECT COUNT(*) FROM visits", "there is no session named 'nobody'"),
        ("%%dpsql --epsilon much\nSELECT COUNT(*) FROM visits", "epsilon, rho and delta are numbers, got much"),
        ("%%dpsql --price 1\nSELECT COUNT(*) FROM visits", "unrecognized arguments: --price"),
        ("%%dpsql 'session\nSELECT COUNT(*) FROM visits", "No closing quotation"),
        ("%%dpsql --epsilon 1\nSELECT who FROM visits", "rows at line 1, column 8"),
        ("%%dpsql --epsilon 9\nSELECT COUNT(*) FROM visits", "left"),
    ],
)
def test_an_error_is_one_line_and_costs_nothing(shell: Any, cell: str, said: str) -> None:
    done = shell.run_cell(cell)
    assert type(done.error_in_exec).__name__ == "UsageError"
    assert said in str(done.error_in_exec)
    assert "\n" not in str(done.error_in_exec)
    assert shell.user_ns["session"].spent.loss == 0
