"""Pictures are made of plain numbers, and nobody who draws nothing loads them."""

from __future__ import annotations

import ast
import xml.etree.ElementTree as ET

import pytest

from deniable import plots
from tests import shape

THEORY = tuple(f"deniable.{layer}" for layer in ("accounting", "core", "kernels", "mechanisms", "transformations"))


def imported_at_once(tree: ast.Module) -> set[str]:
    """The modules that a module loads when it is loaded itself: not inside functions, not for types alone."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def breaks(name: str, tree: ast.Module) -> bool:
    """Whether a module loads pictures at once, or theory draws without `plots`."""
    if name.startswith(("deniable.plots", "deniable.svg")):
        return False
    loaded = imported_at_once(tree)
    everywhere = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    draws = any(each.startswith("deniable.svg") for each in loaded | everywhere)
    return any(each.startswith("deniable.plots") for each in loaded) or (draws and name.startswith(THEORY))


def test_plots_load_inside_plot_methods_only_and_theory_draws_nothing_itself():
    assert [name for name, tree in shape.trees().items() if breaks(name, tree)] == []


@pytest.mark.parametrize(
    "text",
    [
        "from deniable.plots import group_bars",
        "from deniable import plots",
        "import deniable.svg",
        "def plot(self):\n    from deniable.svg import Line",
    ],
)
def test_a_planted_import_is_seen(text):
    assert breaks("deniable.accounting.x", ast.parse(text))


def words(figure: plots.Figure) -> list[str]:
    return [text for element in ET.fromstring(figure.svg).iter() if (text := (element.text or "").strip())]


PICTURES = {
    "Privacy profile": lambda: plots.profile_curve([0, 1], lower=[0.1, 1e-9], upper=[0.2, 1e-8]),
    "Trade-off curve": lambda: plots.tradeoff_curve([0, 1], misses=[0.9, 0]),
    "Privacy loss distribution": lambda: plots.loss_histogram([-1, 1], masses=[0.4, 0.6], width=2, beyond=0),
    "What each query may cost, for (1, 1e-06) in all": lambda: plots.per_query_curves(
        [1, 10], rules={"basic": [1, 0.1]}, epsilon=1, delta=1e-6
    ),
    "Which definition implies which": lambda: plots.definition_graph({"a": (0, 0), "b": (1, 1)}, arrows=[("a", "b")]),
    "Privacy loss of each answer": lambda: plots.answer_losses([0, 1], losses=[-1, 1], marked=(1, 1), said="s"),
    "n by ward": lambda: plots.group_bars([("A", 3, 2, 4)], title="n by ward", note="", intervals=True),
    "error of n by rows per unit": lambda: plots.bound_errors([1, 2], parts={"bias": [2, 1]}, output="n", name="rows"),
}


@pytest.mark.parametrize("title", PICTURES)
def test_a_picture_says_what_it_shows_and_is_the_same_every_time(title):
    figure = PICTURES[title]()
    assert title in words(figure)
    assert figure == PICTURES[title]()


def test_answers_without_numbers_are_bars_with_their_names():
    figure = plots.named_answer_losses(["yes", "no"], losses=[1.0, -1.0], said="at yes it is 1")
    assert {"yes", "no", "at yes it is 1"} <= set(words(figure))


def test_bars_without_intervals_have_no_whiskers():
    with_ends, without = (
        plots.group_bars([("A", 3.0, 2.0, 4.0)], title="t", note="", intervals=known).svg for known in (True, False)
    )
    assert with_ends.count("dn-whisker") > without.count("dn-whisker")
