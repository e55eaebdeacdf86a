"""Every planted broken mechanism is refuted by its own output law, or by an answer its neighbour could not have given."""

from fractions import Fraction

import pytest

from deniable.attacks.anti_mechanisms import (
    AntiMechanism,
    delta_leaker,
    exact_answer,
    halved_noise,
    naive_float_laplace,
    name_and_shame,
    noise_from_data,
    porous_answers,
    reachable_floats,
)
from deniable.audit.comparison import compare
from deniable.audit.exact_law import output_law
from deniable.core.domain import Lattice
from deniable.core.mechanism import Mechanism
from deniable.core.metric import AbsoluteDistance
from deniable.core.space import Space
from deniable.cost import Bounded
from deniable.errors import InvalidArgument
from deniable.mechanisms import laplace
from deniable.testing.scripted_entropy import Seeded

BROKEN = [
    (name_and_shame(rate=Fraction(1, 10)), ["a"], []),
    (delta_leaker(delta=Fraction(1, 100)), ["a"], []),
    (halved_noise(scale=2), 5, 6),
    (exact_answer(), 5, 6),
    (noise_from_data(scale=3), 5, 6),
]


def _laws(broken: AntiMechanism, left, right):
    return [output_law(lambda e, d=d: broken.function(d, e)) for d in (left, right)]


@pytest.mark.parametrize(("broken", "left", "right"), BROKEN, ids=[case[0].name for case in BROKEN])
def test_the_claim_is_refuted(broken, left, right):
    assert compare(*_laws(broken, left, right), broken.claimed).broken


def test_what_name_and_shame_and_the_leaker_do_satisfy_is_worth_nothing():
    shamed, leaked = BROKEN[0][0], BROKEN[1][0]
    assert compare(*_laws(shamed, ["a"], []), Bounded(epsilon=0, delta=Fraction(1, 10))).kept
    assert compare(*_laws(leaked, ["a"], []), Bounded(epsilon=0, delta=Fraction(1, 100))).kept


def test_errata_27_float_noise_rules_neighbours_out():
    """E27: many answers of the textbook listing are impossible for a neighbour; exact noise on a grid has one support for all."""
    share = porous_answers(0.0, 1.0, scale=1, draws=200, entropy=Seeded(1))
    assert share > Fraction(1, 4)
    assert porous_answers(1.0, 1.0, scale=1, draws=50, entropy=Seeded(2)) == 0  # its own answers are found again
    grid = Space(Lattice(), AbsoluteDistance()) >> laplace(scale=1)
    supports = [set(output_law(lambda e, x=x: grid.function(x, e)).chances) for x in (0, 1)]
    assert set(range(-20, 21)) <= supports[0] & supports[1]
    assert len(reachable_floats(0.0, scale=1, draws=50, entropy=Seeded(3))) == 50


def test_none_of_them_can_be_chained_or_metered():
    for broken in (case[0] for case in BROKEN):
        assert not isinstance(broken, Mechanism)
        assert broken.flaw
        with pytest.raises((TypeError, AttributeError)):
            Space(Lattice(), AbsoluteDistance()) >> broken  # type: ignore[operator]


def test_every_one_says_what_it_is():
    for make in (name_and_shame, delta_leaker, halved_noise, exact_answer, noise_from_data, naive_float_laplace):
        assert "NOT PRIVATE" in (make.__doc__ or "")
    with pytest.raises(InvalidArgument, match="scale"):
        naive_float_laplace(scale=0)
