"""Questions to a session, on small tables from the codebook: what is seen is worth the charge, faults are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.testing import Seeded
from tests.planted_noise import plant, scaled
from tests.shared_memory import ledgers_in_memory

__all__ = ["ledgers_in_memory"]

pytestmark = pytest.mark.usefixtures("ledgers_in_memory")

BOOK = dp.Codebook.from_yaml(
    "format: 1\nname: tiny\nunit: {id: who, groups: 1, rows_per_group: 1}\n"
    "tables: {tiny: {variables: {who: {type: integer}, kind: {type: string, categories: [a, b]}, "
    "x: {type: integer, bounds: [0, 2]}}}}"
)


def counted(session):
    return session.query().agg(n=dp.count()).release(epsilon=2)


def by_kind(session):
    return session.query().group_by("kind").agg(n=dp.count()).release(epsilon=2)


@pytest.mark.parametrize("ask", [counted, pytest.param(by_kind, marks=pytest.mark.slow)])
def test_a_question_is_worth_what_it_was_charged(ask):
    verdict = dp.audit.check(ask, claim="its own price", tables=dp.audit.small_tables(BOOK))
    assert not verdict.broken
    assert verdict.method == "exact"
    assert verdict.claims[0].epsilon == 2
    assert 1.5 < verdict.epsilon_at_least <= 2 + 1e-9


def test_half_the_noise_and_no_noise_are_found(monkeypatch):
    with monkeypatch.context() as patch:
        plant(patch, "draw", scaled(2))
        quiet = dp.audit.check(counted, tables=dp.audit.small_tables(BOOK))
    assert quiet.broken
    assert str(quiet.event) == "the answer is one of n = 1 (0 to 2), n = 2 (1 to 3)"
    plant(monkeypatch, "draw", lambda _: lambda self, count, entropy: np.zeros(count, dtype=np.int64))
    verdict = dp.audit.check(counted, tables=dp.audit.small_tables(BOOK))
    assert verdict.broken
    assert verdict.event is not None


def test_a_smaller_claim_is_refuted():
    assert dp.audit.check(counted, claim=dp.costs.Bounded(epsilon=1), tables=dp.audit.small_tables(BOOK)).broken


@pytest.mark.parametrize("claim", ["its own price", dp.costs.Bounded(epsilon=1)])
def test_a_query_that_was_not_released_is_no_question(claim):
    tables = dp.audit.small_tables(BOOK)
    with pytest.raises(InvalidArgument, match=r"not released; end it with \.release"):
        dp.audit.check(lambda session: session.query().agg(n=dp.count()), claim=claim, tables=tables)
    with pytest.raises(InvalidArgument, match="a function of the session"):
        dp.audit.check(3, claim=claim, tables=tables)


def test_small_tables_have_the_edges():
    tables = dp.audit.small_tables(BOOK)
    sizes = [tuple(len(side["who"]) for side in pair) for pair in tables.pairs]
    assert (1, 0) in sizes
    values = {repr(value) for pair in tables.pairs for side in pair for value in side["x"]}
    assert {"0.0", "2.0", "nan", "None"} <= values
    with pytest.raises(InvalidArgument, match="draws nothing"):
        dp.audit.check(counted, tables=tables, entropy=Seeded(1))


def test_a_question_can_be_audited_by_draws(monkeypatch):
    tables = dp.audit.small_tables(BOOK)
    tables = replace(tables, pairs=tables.pairs[:1])
    assert not dp.audit.check(counted, tables=tables, samples=200, entropy=Seeded(1)).broken
    plant(monkeypatch, "draw", lambda _: lambda self, count, entropy: np.zeros(count, dtype=np.int64))
    verdict = dp.audit.check(counted, tables=tables, samples=200, entropy=Seeded(2))
    assert (verdict.method, verdict.broken) == ("samples", True)
