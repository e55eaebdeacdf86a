"""Prices that are remembered: never after anything they depend on has changed."""

from __future__ import annotations

import threading
from dataclasses import replace
from fractions import Fraction

import pytest

import deniable as dp
from deniable.ledger import Ledger
from deniable.server.codebook_desk import in_force
from deniable.server.counter import MOST_OFFERS, Counter
from tests.server.made_up import SQL
from tests.server.test_codebook_desk import MEAN, edited, propose, wider

PAID = {"epsilon": Fraction(1, 10)}


def told(offer):
    return str(offer.price), dict(offer.payment), offer.plan, offer.amount


@pytest.fixture
def counter(server):
    return server.client.app.state.counters["visits"]


def fresh(counter, text=SQL, **paid):
    """The same price where nothing is remembered."""
    ledger = Ledger.existing(counter.data.ledger)
    data = replace(in_force(ledger, counter._first), budget=ledger.terms.budget)
    return told(Counter(data).offer(text, dialect="duckdb", payment=paid or PAID))


def charge(server, counter):
    server.released(request=f"r{len(counter.ledger.charges())}")


def amended(server, counter):
    ledger = Ledger.existing(counter.data.ledger)
    budget = dp.budget(epsilon=2, delta=1e-6)
    ledger.amend(replace(ledger.terms, budget=budget, rule=None), reason="more people", by="olga")


def new_codebook(server, counter):
    propose(server, edited(wider))
    server.work()


def new_version(server, counter):
    Ledger.existing(counter.data.ledger).new_version(reason="a new year", by="olga")


class Blind(dict):
    """Planted: remembers a price by its text alone."""

    def get(self, key, default=None):
        return super().get(key[0], default)

    def __setitem__(self, key, offer):
        super().__setitem__(key[0], offer)


def plant(counter, monkeypatch):
    """The fault, kept also where the terms are read afresh."""
    blind, real = Blind(), Counter._begin

    def begin(self, ledger):
        real(self, ledger)
        self._offers = blind if self is counter else self._offers

    monkeypatch.setattr(Counter, "_begin", begin)
    counter._offers = blind


CHANGES = {"charge": charge, "amendment": amended, "codebook": new_codebook, "version": new_version}


def renewed(server, counter, change):
    """The law: what is remembered is the very same price, and after a change it is found anew, as if nothing were remembered."""
    first = counter.offer(MEAN, dialect="duckdb", payment=PAID)
    assert counter.offer(MEAN, dialect="duckdb", payment=dict(PAID)) is first
    change(server, counter)
    later = counter.offer(MEAN, dialect="duckdb", payment=PAID)
    return later is not first and told(later) == fresh(counter, MEAN)


@pytest.mark.parametrize("fault", [False, True], ids=["as it is", "planted"])
@pytest.mark.parametrize("change", CHANGES)
def test_no_price_survives_what_it_depends_on(server, counter, monkeypatch, change, fault):
    if fault:
        plant(counter, monkeypatch)
    assert renewed(server, counter, CHANGES[change]) is not fault


def test_every_payment_text_and_dialect_has_its_own_price(counter, monkeypatch):
    asked = [
        (SQL, {"epsilon": Fraction(1, 10)}),
        (SQL, {"epsilon": Fraction(1, 5)}),
        (SQL, {"accuracy": {"n": Fraction(30)}}),
        (SQL, {"accuracy": {"n": Fraction(60)}}),
        (MEAN, {"epsilon": Fraction(1, 10)}),
    ]

    def own():
        for text, paid in asked:
            counter.offer(text, dialect="duckdb", payment=paid)
        return all(
            told(counter.offer(text, dialect="duckdb", payment=paid)) == fresh(counter, text, **paid)
            for text, paid in asked
        )

    assert own()
    assert len(counter._offers) == len(asked)
    plant(counter, monkeypatch)
    assert not own()


def test_no_more_prices_are_remembered_than_that(counter, monkeypatch):
    monkeypatch.setattr("deniable.server.counter.MOST_OFFERS", 2)
    for number in (1, 2, 3):
        counter.offer(SQL, dialect="duckdb", payment={"epsilon": Fraction(1, number)})
    assert MOST_OFFERS == 200
    assert [offer.payment["epsilon"] for offer in counter._offers.values()] == ["1/2", "1/3"]


def test_an_amendment_while_a_price_is_found_waits_for_it(server, counter, monkeypatch):
    """Else the codebook of one state would be priced against the ledger of another, or the thread wait for itself."""
    old, begun = told(counter.offer(MEAN, dialect="duckdb", payment=PAID)), []
    real = Ledger.held

    def held(ledger):
        if not begun:
            begun.append(threading.Thread(target=counter.refresh, daemon=True))
            amended(server, counter)
            begun[0].start()
            begun[0].join(0.2)
            assert begun[0].is_alive()
        return real(ledger)

    monkeypatch.setattr(Ledger, "held", held)
    assert counter.offer(MEAN, dialect="duckdb", payment=PAID).price
    begun[0].join(30)
    assert not begun[0].is_alive()
    after = told(counter.offer(MEAN, dialect="duckdb", payment=PAID))
    assert after == fresh(counter, MEAN) != old
