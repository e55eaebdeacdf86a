"""What a table release prices is what it draws: threshold, cost, interval and noise of every kind, through the public path."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest

import deniable as dp
from deniable.accounting import epsilon
from deniable.audit.exact_law import output_law
from deniable.cost import Bounded
from deniable.kernels import Law, Sensitivity, Staircase, noise_of
from deniable.query import allocation
from deniable.testing import Silent
from tests.attacks.end_to_end import in_memory

__all__ = ["in_memory"]

pytestmark = pytest.mark.usefixtures("in_memory")

BOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "tables": {"v": {"variables": {"p": "integer", "ward": "string", "sex": {"type": "string", "categories": ["f"]}}}},
}
ALONE = {"p": [1], "ward": ["A"], "sex": ["f"]}
TAIL = Fraction(1, 10**6)
PAID = [{"rho": Fraction(18)}, {"rho": Fraction(1, 2)}, {"epsilon": Fraction(3)}]


def session(budget, entropy):
    return dp.Dataset(ALONE, codebook=BOOK).session(budget, entropy=entropy)


def budget(paid):
    return dp.budget(**{name: 2 * value for name, value in paid.items()}, delta=Fraction(1, 100))


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("paid", PAID)
def test_the_delta_of_a_threshold_is_the_tail_of_what_is_drawn(law, paid):
    """One unit alone in its group: the group is shown exactly as often as the noise that is drawn reaches the threshold."""
    delta = Fraction(1, 1000)

    def shown(entropy):
        asked = session(budget(paid), entropy).query().group_by("ward").agg(n=dp.count_distinct())
        return bool(asked.release(**paid, delta=delta, law=law).groups)

    asked = session(budget(paid), Silent()).query().group_by("ward").agg(n=dp.count_distinct())
    price = asked.price(**paid, delta=delta, law=law)
    granted = sum(each.delta for each in price.allocation.thresholds)
    seen = output_law(shown, tail=TAIL)
    assert seen.probability(True).lower <= granted <= delta
    (noise,) = price.allocation.noises.values()
    exact = noise.tail(price.threshold - 1)
    assert seen.probability(True).lower <= exact.upper
    assert exact.lower <= seen.probability(True).upper
    assert noise.tail(price.threshold - 2).upper > granted, "one less would leak more than was granted"


def _two_keys(law):
    """What one unit with two keys nobody else has pays to be hidden, how often any of them is shown, and the price."""
    delta, paid = Fraction(1, 1000), {"epsilon": Fraction(14)}
    book = {**BOOK, "unit": {"id": "p", "groups": 2, "rows_per_group": 1}}

    def asked(entropy):
        data = dp.Dataset({"p": [1, 1], "ward": ["A", "B"], "sex": ["f", "f"]}, codebook=book)
        return data.session(budget(paid), entropy=entropy).query().group_by("ward").agg(n=dp.count_distinct())

    price = asked(Silent()).price(**paid, delta=delta, law=law)
    seen = output_law(lambda entropy: bool(asked(entropy).release(**paid, delta=delta, law=law).groups), tail=10 * TAIL)
    return sum(each.delta for each in price.allocation.thresholds), seen.probability(True), price


@pytest.mark.parametrize("law", [Law.LAPLACE, Law.GAUSSIAN])
def test_a_unit_with_keys_of_its_own_shows_any_of_them_no_more_often_than_delta(law):
    granted, shown, price = _two_keys(law)
    (noise,) = price.allocation.noises.values()
    one, lower = noise.tail(price.threshold - 1), noise.tail(price.threshold - 2)
    assert shown.lower <= granted <= Fraction(1, 1000)
    assert abs(shown.lower - (1 - (1 - one.lower) ** 2)) <= 20 * TAIL
    assert 1 - (1 - lower.upper) ** 2 > granted, "one less would leak more than was granted"


def test_a_threshold_for_one_key_where_a_unit_has_two_is_caught(monkeypatch):
    """The planted fault: each of two keys may show with the whole delta. A scale of noise at which that is another threshold."""
    honest = allocation.key_threshold

    def for_one(delta, *, noise, apart):
        return honest(delta, noise=noise, apart=Sensitivity(l0=1, l1=1, linf=1))

    monkeypatch.setattr(allocation, "key_threshold", for_one)
    granted, shown, _ = _two_keys(Law.LAPLACE)
    assert shown.lower > granted


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("paid", PAID)
def test_what_is_drawn_has_the_law_that_was_priced(law, paid):
    """A count of one row: every released number has exactly the probability of the priced noise, and the interval holds."""

    def count(entropy):
        found = session(budget(paid), entropy).query().agg(n=dp.count()).release(**paid, law=law)
        return found.table[0]["n"]

    price = session(budget(paid), Silent()).query().agg(n=dp.count()).price(**paid, law=law)
    (noise,) = price.allocation.noises.values()
    assert noise.law is law
    assert price.law == law.value
    seen, missed = output_law(count, tail=TAIL), Fraction(0)
    for value in seen.chances:
        drawn, exact = seen.probability(value), noise.mass(value - 1)
        assert drawn.lower <= exact.upper
        assert exact.lower <= drawn.upper
        missed += drawn.lower if abs(value - 1) > price.errors["n"].within else 0
    assert missed <= 1 - price.confidence


STAIRS_BOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "tables": {"v": {"variables": {"p": "integer", "x": {"type": "integer", "bounds": [0, 4]}}}},
}


def test_stairs_are_as_wide_as_one_unit_moves_a_sum():
    """A sum that one unit moves by four: what is drawn has the law of the stairs that were priced, and costs what was asked."""
    paid = {"epsilon": Fraction(3)}

    def asked(entropy):
        data = dp.Dataset({"p": [1], "x": [3]}, codebook=STAIRS_BOOK)
        return data.session(budget(paid), entropy=entropy).query().agg(s=dp.sum("x", clip="total"))

    price = asked(Silent()).price(**paid, law="staircase")
    (noise,) = price.allocation.noises.values()
    assert isinstance(noise, Staircase)
    assert noise.width == 4
    assert noise.error(Fraction(1, 20)) <= noise_of(Law.LAPLACE, noise.scale).error(Fraction(1, 20))
    seen = output_law(
        lambda entropy: asked(entropy).release(**paid, law="staircase").table[0]["s"], tail=Fraction(1, 500)
    )
    for value in seen.chances:
        drawn, exact = seen.probability(value), noise.mass(value - 3)
        assert drawn.lower <= exact.upper
        assert exact.lower <= drawn.upper
    assert len(seen.chances) > 12
    assert price.spend.loss <= next(iter(paid.values()))


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("paid", PAID)
def test_the_charge_covers_the_records(law, paid):
    asked = session(budget(paid), Silent()).query().agg(n=dp.count(), k=dp.count_distinct()).price(**paid, law=law)
    if isinstance(asked.charge, Bounded) and asked.charge.delta:
        assert epsilon(asked.cost, delta=asked.charge.delta).upper <= asked.charge.epsilon
    else:
        assert asked.spend.loss <= next(iter(paid.values()))


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(15)])
def test_the_stated_variance_is_near_the_exact_one(law, scale):
    noise = noise_of(law, scale)
    exact = float(sum(at * at * noise.mass(at).midpoint for at in range(1, int(40 * scale) + 40)) * 2)
    assert exact == pytest.approx(float(noise.variance), abs=0.2)


def test_a_law_is_named_in_words():
    asked = session(dp.budget(rho=1), Silent()).query().agg(n=dp.count())
    assert asked.price(rho=1, law="discrete gaussian").law == "discrete Gaussian"
    with pytest.raises(
        dp.errors.InvalidArgument, match="law must be one of 'laplace', 'gaussian', 'discrete gaussian', 'staircase'"
    ):
        asked.price(rho=1, law="normal")
    for law in (Law.GAUSSIAN, Law.DISCRETE_GAUSSIAN):
        with pytest.raises(dp.errors.InvalidArgument, match="needs a delta"):
            session(dp.budget(epsilon=1), Silent()).query().agg(n=dp.count()).price(epsilon=1, law=law)


@pytest.mark.parametrize("epsilon_", [1e-320, 5e-324, Fraction(1, 10**320)])
def test_a_tiny_price_is_refused_in_words(epsilon_):
    asked = session(dp.budget(epsilon=1, delta=1e-6), Silent()).query().agg(n=dp.count())
    with pytest.raises(dp.errors.InvalidArgument, match="needs noise of more than 1e\\+300 grid steps"):
        asked.price(epsilon=epsilon_, law=Law.LAPLACE)
    for law in (Law.GAUSSIAN, Law.DISCRETE_GAUSSIAN):
        with suppress(dp.errors.InvalidArgument):
            assert asked.price(epsilon=epsilon_, law=law).spend.delta <= Fraction(1, 10**6)


def test_errors_hold_before_it_is_known_which_groups_are_shown():
    """The interval of a group of one fails as rarely as said over all releases, and always in those that show the group."""
    delta, paid = Fraction(1, 1000), {"epsilon": Fraction(3)}

    def outcome(entropy):
        asked = session(budget(paid), entropy).query().group_by("ward").agg(n=dp.count_distinct())
        answer = asked.release(**paid, delta=delta, law=Law.LAPLACE)
        assert any("before it is known which groups are shown" in note for note in answer.notes)
        return tuple(row["n_low"] <= 1 <= row["n_high"] for row in answer.table)

    seen = output_law(outcome, tail=TAIL)
    assert seen.probability((True,)).lower == 0
    shown = seen.probability((False,))
    assert shown.lower > 0
    assert shown.upper <= Fraction(1, 20)
