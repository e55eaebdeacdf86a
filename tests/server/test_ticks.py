"""Ticks and sizes: whatever took how long leaves at the same public time, and whatever says what has the same public size."""

from __future__ import annotations

import pytest

from deniable.errors import InvalidArgument
from deniable.server.ticks import due, leaving, padded_size
from deniable.server.worker import Pace


@pytest.mark.parametrize("tick", [0.05, 1, 5])
def test_every_run_shorter_than_a_tick_leaves_at_one_time(tick):
    for start in (0.0, 0.001, 12.34, 99.999):
        times = {leaving(start, start + share * tick, tick=tick) for share in (0.0, 0.1, 0.5, 0.999)}
        assert times == {due(start, tick=tick)}
        (at,) = times
        assert start + tick <= at < start + 2 * tick + 1e-9


def test_a_longer_run_leaves_at_the_next_multiple():
    assert leaving(0.0, 1.5, tick=1) == 2.0
    assert leaving(0.2, 3.01, tick=1) == 4.0
    assert leaving(0.2, 3.0, tick=1) == 3.0
    assert leaving(5.0, 5.25, tick=0) == 5.25


def test_what_ends_before_it_begins_is_refused():
    with pytest.raises(InvalidArgument, match="begins before"):
        leaving(2.0, 1.0, tick=1)


def test_a_pace_sleeps_until_the_tick_whatever_the_run_took():
    for took in (0.0, 0.2, 0.9):
        now, slept = [100.3], []

        def sleep(seconds, now=now, slept=slept):
            slept.append(seconds)
            now[0] += seconds

        pace = Pace(1, now=lambda now=now: now[0], sleep=sleep)
        pace.begin()
        now[0] += took
        pace.wait()
        assert now[0] == pytest.approx(102.0)


@pytest.mark.parametrize(("size", "expected"), [(0, 10), (1, 10), (10, 10), (11, 20), (20, 20)])
def test_sizes_are_multiples_of_a_step(size, expected):
    assert padded_size(size, step=10) == expected
