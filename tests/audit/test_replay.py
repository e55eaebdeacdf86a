"""Replay: two runs with the same released answers must do the same; what differs was read without being paid for."""

from __future__ import annotations

import pytest

import deniable as dp
from deniable.audit.faults import PLANTED
from deniable.core import Lattice, Numbers, Rows, Space, SymmetricDistance
from deniable.core.metric import AbsoluteDistance
from deniable.cost import Bounded
from deniable.errors import InvalidArgument
from deniable.testing import Seeded

ROWS = Space(Rows(Numbers()), SymmetricDistance())
COUNT = ROWS >> dp.calculus.count() >> dp.calculus.laplace(scale=1)
NUMBER = Space(Lattice(), AbsoluteDistance())
NOISE = NUMBER >> dp.calculus.laplace(scale=1)
PAIR = ([1.0, 2.0], [1.0, 2.0, 3.0])


def kinds(report):
    return {found.kind for found in report.divergences}


def honest(compositor):
    first = compositor.release(COUNT)
    return [first, compositor.release(COUNT)] if first > 1 else [first]


def test_an_honest_interactive_mechanism_agrees_with_itself():
    cost = COUNT.cost(d_in=1)
    mechanism = (
        dp.calculus.interactive(ROWS, costs=[cost, cost], run=honest) if hasattr(dp.calculus, "interactive") else None
    )
    if mechanism is None:
        from deniable.core import interactive

        mechanism = interactive(ROWS, costs=[cost, cost], run=honest)
    for seed in range(5):
        report = dp.audit.replay(mechanism, neighbours=PAIR, entropy=Seeded(seed))
        assert not report.broken
        assert report.calls
        assert "agree" in str(report)


def test_data_that_steers_the_questions_is_found():
    from deniable.core import interactive

    cost = COUNT.cost(d_in=1)

    def peeks(compositor):
        times = 2 if len(compositor._data) > 2 else 1
        return [compositor.release(COUNT) for _ in range(times)]

    report = dp.audit.replay(interactive(ROWS, costs=[cost, cost], run=peeks), neighbours=PAIR, entropy=Seeded(1))
    assert kinds(report) == {"number of calls"}
    assert "peeks" in report.divergences[0].function
    assert "test_replay.py" in report.divergences[0].place


def test_an_uncharged_read_is_found_by_what_is_returned():
    def program(data, recorder):
        return recorder.release(COUNT, data), len(data)

    assert kinds(dp.audit.replay(program, neighbours=PAIR, entropy=Seeded(2))) == {"uncharged read"}


def test_a_transformation_that_moves_further_than_its_map_is_found():
    def program(data, recorder):
        total = recorder.apply(bad, data)
        return recorder.release(NOISE, total, d_in=1)

    from deniable.core import own_transformation

    bad = own_transformation(
        ROWS, NUMBER, function=lambda rows: int(sum(rows)), stability_map=lambda d_in: d_in, author="a test"
    )
    report = dp.audit.replay(program, neighbours=PAIR, entropy=Seeded(3))
    assert kinds(report) == {"sensitivity"}
    assert "3 apart" in str(report)


def test_an_input_that_is_emptied_after_the_question_is_found_all_the_same():
    def program(data, recorder):
        held = [*data, *data]
        answer = recorder.release(COUNT, held, d_in=1)
        held.clear()
        return answer

    report = dp.audit.replay(program, neighbours=PAIR, entropy=Seeded(3))
    assert kinds(report) == {"sensitivity"}
    assert "2 apart" in str(report)


def test_an_error_on_one_side_only_is_found():
    def program(data, recorder):
        if len(data) > 2:
            raise ValueError(data)
        return recorder.release(COUNT, data)

    assert kinds(dp.audit.replay(program, neighbours=PAIR, entropy=Seeded(4))) >= {"error"}


def test_more_than_the_claim_is_found():
    def program(data, recorder):
        return [recorder.release(COUNT, data) for _ in range(2)]

    assert kinds(dp.audit.replay(program, neighbours=PAIR, claim=Bounded(epsilon=1))) == {"declared cost"}
    assert not dp.audit.replay(program, neighbours=PAIR, claim=Bounded(epsilon=2)).broken


def test_nothing_to_replay_is_said():
    with pytest.raises(InvalidArgument, match="asks no compositor"):
        dp.audit.replay(COUNT, neighbours=PAIR)


def test_compositors_inside_programs_are_recorded_with_their_children():
    def program(data, recorder):
        outer = recorder.compositor(data, ROWS, budget=dp.budget(epsilon=3))
        return [outer.filter(dp.budget(epsilon=1)).release(COUNT), outer.odometer().release(COUNT)]

    report = dp.audit.replay(program, neighbours=PAIR, entropy=Seeded(5))
    assert not report.broken
    assert len(report.calls) == 2


def test_seven_faults_have_programs():
    assert sum(hasattr(fault, "program") for fault in PLANTED) == 7
