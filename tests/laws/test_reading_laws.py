"""Laws of readings, over random costs: more noise, less sampling, fewer releases or more delta never cost more; parts bound their
whole; and nothing done to an answer makes it say more."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import delta, epsilon, pure
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.cost import (
    Bounded,
    Concentrated,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mixed,
    Parallel,
    RandomizedResponse,
    composed,
)
from tests.finite import hockey_stick, max_divergence, renyi_divergence

GAP = 3e-4  # two brackets, each narrower than 1e-4
SLACK = Fraction(1, 10**12)

scales = st.fractions(Fraction(1, 2), 20, max_denominator=50)
growth = st.fractions(Fraction(11, 10), 3, max_denominator=10)
rates = st.fractions(Fraction(1, 50), Fraction(9, 10), max_denominator=100)
chances = st.sampled_from([Fraction(1, 10**power) for power in (2, 5, 9, 14)])
kinds = st.sampled_from(
    [
        lambda scale: Laplace(scale=scale),
        lambda scale: DiscreteLaplace(scale=scale, sensitivity=2),
        lambda scale: Gaussian(scale=scale, sensitivity=1),
        lambda scale: RandomizedResponse(truth=(scale + 2) / (2 * scale + 2)),
    ]
)


def no_more(less, more, *, at):
    """Both ends of a reading are no larger, up to the widths of the brackets."""
    small, large = epsilon(less, delta=at), epsilon(more, delta=at)
    assert small.lower <= large.upper
    assert small.upper <= large.upper * (1 + GAP) + 1e-12


@settings(max_examples=10)
@given(kinds, scales, growth, st.integers(1, 5), chances)
def test_more_noise_never_costs_more(kind, scale, factor, times, chance):
    no_more(kind(scale * factor).repeated(times), kind(scale).repeated(times), at=chance)


@settings(max_examples=20)
@given(kinds, scales, st.integers(1, 4), st.integers(1, 4), chances)
def test_fewer_releases_never_cost_more(kind, scale, times, further, chance):
    no_more(kind(scale).repeated(times), kind(scale).repeated(times + further), at=chance)


@settings(max_examples=20)
@given(kinds, scales, rates, st.fractions(Fraction(1, 10), 1, max_denominator=10), st.integers(1, 3), chances)
def test_a_smaller_sample_never_costs_more_and_no_sample_more_than_all(kind, scale, rate, share, times, chance):
    some, fewer = kind(scale).sampled(rate=rate), kind(scale).sampled(rate=rate * share)
    no_more(fewer.repeated(times), some.repeated(times), at=chance)
    no_more(some.repeated(times), kind(scale).repeated(times), at=chance)


@settings(max_examples=10)
@given(kinds, scales, st.integers(1, 6), st.tuples(chances, chances))
def test_more_delta_never_costs_more(kind, scale, times, pair):
    few, many = min(pair), max(pair)
    cost = kind(scale).repeated(times)
    assert epsilon(cost, delta=many).upper <= epsilon(cost, delta=few).upper * (1 + GAP) + 1e-12


@settings(max_examples=10)
@given(st.lists(st.tuples(kinds, scales), min_size=2, max_size=3), chances)
def test_a_whole_costs_at_most_its_parts_and_at_least_each(parts, chance):
    costs = [kind(scale) for kind, scale in parts]
    whole = epsilon(composed(costs), delta=chance)
    apart = [epsilon(each, delta=chance / len(costs)).upper for each in costs]
    assert whole.lower <= sum(apart) * (1 + 1e-12)
    for each in costs:
        no_more(each, composed(costs), at=chance)
        no_more(each, Parallel(tuple(costs)), at=chance)
    share = Fraction(1, len(costs))
    no_more(Mixed([(share, each) for each in costs]), Parallel(tuple(costs)), at=chance)
    no_more(Parallel(tuple(costs)), composed(costs), at=chance)


@settings(max_examples=10)
@given(kinds, scales, st.integers(1, 6), chances)
def test_a_promise_read_from_a_cost_costs_at_least_the_cost(kind, scale, times, chance):
    cost = kind(scale)
    promises = [Concentrated(rho=ZeroConcentrated().read(cost).loss)]
    if not isinstance(cost, Gaussian):
        promises.append(Bounded(epsilon=pure(cost)))
    for promise in promises:
        no_more(cost.repeated(times), promise.repeated(times), at=chance)


@settings(max_examples=20)
@given(kinds, scales, st.integers(1, 4), st.fractions(0, 3, max_denominator=20), growth)
def test_a_profile_falls_and_is_convex_in_e_to_the_epsilon(kind, scale, times, start, factor):
    """Three points at even distances of e^epsilon, as whole brackets."""
    cost = kind(scale).repeated(times)
    first, last = start, start + factor
    a, c = delta(cost, epsilon=first), delta(cost, epsilon=last)
    assert c.lower <= a.upper
    middle = (first + last) / 2  # e^middle is below the middle of e^first and e^last: its weight on `first` is larger
    weight = 1 / (1 + 2.718281828459045 ** float(-(last - first) / 2))
    assert delta(cost, epsilon=middle).lower <= (weight * a.upper + (1 - weight) * c.upper) * (1 + 1e-9) + 1e-300


weights = st.lists(st.integers(1, 30), min_size=4, max_size=4)


def law(numbers):
    return {place: Fraction(number, sum(numbers)) for place, number in enumerate(numbers)}


def processed(numbers, kernel):
    """What remains of a law when each answer is replaced by a random one of its own row."""
    rows = [law(row) for row in kernel]
    before = law(numbers)
    return {out: sum(before[place] * row[out] for place, row in enumerate(rows)) for out in range(4)}


@settings(max_examples=60)
@given(weights, weights, st.lists(weights, min_size=4, max_size=4), st.fractions(0, 2, max_denominator=8))
def test_no_divergence_grows_under_processing(one, two, kernel, at):
    """Hockey-stick, Rényi and max divergence of exact laws, before and after a random kernel."""
    before, after = (law(one), law(two)), (processed(one, kernel), processed(two, kernel))
    assert hockey_stick(*after, epsilon=at).lower <= hockey_stick(*before, epsilon=at).upper + SLACK
    assert max_divergence(*after).lower <= max_divergence(*before).upper + SLACK
    for order in (2, 5):
        assert renyi_divergence(*after, order=order).lower <= renyi_divergence(*before, order=order).upper + SLACK
