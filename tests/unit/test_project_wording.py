"""What people read is spelt one way: a loss is "epsilon = 0.5, delta = 1e-6", and words agree with their number."""

from __future__ import annotations

import ast
import re
from fractions import Fraction

import pytest

import deniable as dp
from deniable.errors import BudgetExceeded
from deniable.exact import loss_text, number_of
from deniable.release.report import report_page
from tests import shape

BARE = re.compile(r"\b(epsilon|delta|rho|mu squared) (?=\d)")
"""A loss without its sign; options of commands (`--epsilon 1`) are no losses."""
OPEN = re.compile(r"(?<![-\w])(epsilon|delta|rho) $")
_THINGS = (
    "rows units groups answers questions keys columns characters people stages steps releases tables bytes draws candidates cells "
    "points requests events categories levels pieces hits queries models bins places entries pairs rounds words teachers batches "
    "gradients features nodes edges"
)
PLURAL = re.compile(rf" (?:noisy |declared |more )?({'|'.join(_THINGS.split())})\b| [a-z]+\(s\)")
NEVER_ONE = {
    "audit.words": "a script of words runs out after several",
    "accounting.implied": "one unit has a sentence of its own",
    "cli.sql_check": "said of several stages alone",
    "deciding.attack_power": "guessing among several people",
    "deciding.epsilon_choice": "a population",
    "deciding.registry_entry": "a text of several characters",
    "ledger.proposals": "the number of an event, not how many",
    "mechanisms.constant_time": "more steps than a table holds",
    "mechanisms.grid": "more points than 64 bits count",
    "mechanisms.private_quantiles": "more points than 64 bits count",
    "models.training": "the kind of batch, not how many",
    "plan.nodes": "more features than a row has columns",
    "plan.unit_tables": "more cells than may be",
    "query.compile": "one row has a sentence of its own",
    "query.price": "a mean needs several rows",
    "release.staged": "said of several stages alone",
    "release.twin_scores": "a target of several categories",
    "svg.elements": "a drawing's characters",
    "synth.fitted.twin_query": "more than two columns",
    "synth.resources": "tables of several columns, and more cells than fit",
}


def formatted(tree: ast.AST):
    """Every value written into a text, with the words before and after it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [None, *node.values, None]
            for before, value, after in zip(parts, parts[1:], parts[2:], strict=False):
                if isinstance(value, ast.FormattedValue):
                    yield _words(before), value, _words(after)


def _words(part: ast.expr | None) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""


def counts(value: ast.FormattedValue) -> bool:
    """Is a whole number written, that is neither a constant of the module nor measured in fractions?"""
    spec = "" if value.format_spec is None else ast.unparse(value.format_spec).removeprefix("f")
    text = ast.unparse(value.value)
    return value.conversion == -1 and not re.search("[gfe%]", spec) and not re.fullmatch("_?[A-Z_0-9]+", text)


def unsigned(tree: ast.AST) -> list[str]:
    return [before for before, value, _ in formatted(tree) if OPEN.search(before) and _number(value)]


def _number(value: ast.FormattedValue) -> bool:
    """`epsilon {bound}` with a bound such as "is infinite" is a sentence; a number has a format or comes from one."""
    return value.format_spec is not None or "digits" in ast.unparse(value.value)


def disagreeing(tree: ast.AST) -> list[str]:
    return [after for _, value, after in formatted(tree) if PLURAL.match(after) and counts(value)]


def test_the_two_searches_find_what_they_are_for():
    loose = ast.parse("f'costs epsilon {x:.6g}, delta {digits(d)}'; f'at epsilon = {x:g}'; f'--epsilon {x:g}'")
    assert unsigned(loose) == ["costs epsilon ", ", delta "]
    plural = ast.parse("f'{n} rows'; f'{n:,} noisy steps'; f'{n} pair(s)'; f'{n:.3g} rows'; f'{MOST} rows'; f'{n} row'")
    assert [text.split()[0] for text in disagreeing(plural)] == ["rows", "noisy", "pair(s)"]


def test_no_loss_is_written_without_its_sign():
    found = {name: unsigned(tree) for name, tree in shape.trees().items()}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_words_agree_with_their_number():
    found = {name.removeprefix("deniable."): disagreeing(tree) for name, tree in shape.trees().items()}
    assert {name: texts for name, texts in found.items() if texts and name not in NEVER_ONE} == {}
    assert {name for name in NEVER_ONE if not found[name]} == set(), "no longer needed"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1000, "1,000 rows"), (-1, "-1 rows")]
)
def test_so_many_things(count, text):
    assert number_of(count, "row") == text
    assert number_of(count, "person", "people") == text.replace("rows", "people").replace("row", "person")


def test_a_loss_is_rounded_up_and_what_is_left_downwards():
    third = Fraction(1, 3)
    assert loss_text("epsilon", third) == "epsilon = 0.333334"
    assert loss_text("rho", third, third / 10**6, downwards=True) == "rho = 0.333333, delta = 3.33333e-7"
    assert loss_text("epsilon", Fraction(0), 0) == "epsilon = 0"


def printed(folder):
    """Everything a session, its ledger and its answers print."""
    data = dp.Dataset(shape.ROWS, codebook=shape.CODEBOOK)
    session = data.session(dp.budget(epsilon=1, delta=1e-6), ledger=folder / "v.ledger")
    query = session.query().group_by("ward").agg(n=dp.count())
    yield "budget", dp.budget(epsilon=1, delta=1e-6)
    yield "price", query.price(epsilon=0.25)
    answer = query.release(epsilon=0.25)
    yield "answer", answer
    yield "guarantee", answer.guarantee
    yield "receipt", answer.receipt
    yield "release table", answer.release_table()
    yield "remaining", session.remaining
    yield "spent", session.spent
    yield "history", session.history
    yield from (("balance", balance) for balance in session.ledger.balances())
    yield "report", report_page(session.ledger)
    yield "workload", session.workload({"a": query}, epsilon=0.25)
    yield "plan of SQL", session.sql("EXPLAIN DP SELECT COUNT(*) AS n FROM v", epsilon=0.25)
    with pytest.raises(BudgetExceeded) as refused:
        query.release(epsilon=2, request="too much")
    yield "refusal", refused.value
    yield "session", session


def test_every_printed_form_of_a_loss_has_its_sign(tmp_path):
    texts = {name: str(form) for name, form in printed(tmp_path)}
    assert {name: BARE.findall(text) for name, text in texts.items() if BARE.search(text)} == {}
    silent = {name for name, text in texts.items() if not re.search(r"(epsilon|rho) = \d", text)}
    assert silent <= {"answer", "release table", "session"}, silent
