"""Private selection from private candidates: the best of a random number of runs, or the first run that is good enough.

Every run is private by itself; how many runs there are is drawn beforehand from a law that does not know the data, or decided by
a coin after each run, so that the best costs little more than one run however many there were (docs/theory/selection.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from deniable import accounting
from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import Step, step
from deniable.cost import FREE, Bounded, Cost, Mixed, Selected, Stopping
from deniable.errors import InvalidArgument
from deniable.exact import exp, expm1, ln
from deniable.exact.guards import Real, open_probability, rational
from deniable.kernels.laws import least
from deniable.noise import Entropy, bernoulli, poisson, truncated_negative_binomial, uniform_below

Candidates: TypeAlias = Step[Mechanism] | Sequence[Step[Mechanism]]
Score: TypeAlias = Callable[[Any], Any]

_FINE = 1 << 20


@step
def best_of(
    space: Space,
    candidates: Candidates,
    *,
    score: Score,
    tries: Real,
    stopping: Stopping = Stopping.NEGATIVE_BINOMIAL,
    shape: Real = 1,
) -> Mechanism:
    """The answer with the highest `score` among a random number of runs; with several candidates each run draws one of them.

    Truncated negative binomial: `tries` is gamma, the chance to stop (1/gamma runs on average for shape 1, the geometric law), and
    `shape` is eta, above -1. Poisson: `tries` is the mean, and no run at all answers None. A score that fails counts as the lowest.
    Accuracy is a share of runs: a score that one run reaches at least so often is reached.

    Guarantee: `Selected`, for a purely or Rényi-private candidate: (2 + eta) epsilon, or the published Rényi bound. The number of
    runs is not part of the answer, but whoever waits for it can guess it: for a curator, not for a server that answers at once.
    """
    price = Selected(FREE, stopping=stopping, tries=tries, shape=shape)
    runs = _built(candidates, space)
    number = _number_of_tries(price)

    def answer(data: Any, entropy: Entropy) -> Any:
        found: list[tuple[tuple[int, Any], Any]] = []
        for _ in range(number(entropy)):
            one = _run(runs, data, entropy)
            if not found or _points(score, one) > found[0][0]:
                found = [(_points(score, one), one)]
        return found[0][1] if found else None

    def cost(d_in: Distance) -> Cost:
        one = _one_run(runs, d_in)
        return FREE if one == FREE else Selected(one, stopping=stopping, tries=price.tries, shape=price.shape)

    reached = Utility(
        "share of runs: a score that one run reaches at least this often is reached", lambda beta: _share(price, beta)
    )
    return Mechanism(space, answer, cost, reached, _claims(runs))


@step
def first_above(space: Space, candidates: Candidates, *, score: Score, threshold: Real, stop: Real) -> Mechanism:
    """The first answer whose `score` reaches the public `threshold`; after every other run it gives up with chance `stop`: None.

    Guarantee: twice the pure loss of one run, however long it goes on (Liu and Talwar 2019). Candidates must be purely private. How
    long it took is not part of the answer, and depends on the data: for a curator, not for a server that answers at once.
    """
    runs, least, chance = _built(candidates, space), rational(threshold=threshold), open_probability(stop=stop)

    def answer(data: Any, entropy: Entropy) -> Any:
        while True:
            one = _run(runs, data, entropy)
            if _points(score, one) >= (1, least):
                return one
            if bernoulli(chance, entropy):
                return None

    def cost(d_in: Distance) -> Cost:
        one = _one_run(runs, d_in)
        return FREE if one == FREE else Bounded(epsilon=2 * accounting.pure(one))

    def found(beta: Fraction) -> Fraction:
        """With p the chance of one run, none is found with (1 - p)·stop / (p + stop - p·stop): at most beta from this p on."""
        return chance * (1 - beta) / (chance * (1 - beta) + beta)

    often = Utility("share of runs: where one run reaches the threshold at least this often, an answer is found", found)
    return Mechanism(space, answer, cost, often, _claims(runs))


def _share(price: Selected, beta: Fraction) -> Fraction:
    """The least q, to a 2**20th, with E[(1 - q)**runs] certainly at most beta: no run is among the best share q of single runs."""
    share = least(lambda k: k >= _FINE or _all_miss(price, Fraction(k, _FINE)) <= beta, near=_FINE // 2)
    if _all_miss(price, Fraction(share, _FINE)) > beta:
        raise InvalidArgument(
            f"there is no run at all with probability {float(_all_miss(price, Fraction(1))):.3g}, more than the "
            f"{float(beta):.3g} that this confidence leaves: raise tries or ask for less confidence"
        )
    return Fraction(share, _FINE)


def _all_miss(price: Selected, q: Fraction) -> Fraction:
    """E[(1 - q)**runs], rounded up: the generating function of the number of runs."""
    if price.stopping is Stopping.POISSON:
        return exp(-price.tries * q).upper
    if not q < 1:
        return Fraction(0)
    left, shape = 1 - (1 - price.tries) * (1 - q), price.shape
    if shape == 0:
        return (ln(left) / ln(price.tries)).upper
    return (expm1(-shape * ln(left)) / expm1(-shape * ln(price.tries))).upper


def _built(candidates: Candidates, space: Space) -> tuple[Mechanism, ...]:
    listed = (candidates,) if isinstance(candidates, Step) else tuple(candidates)
    if not listed:
        raise InvalidArgument("give at least one candidate to select from, got []")
    return tuple(each.build(space) for each in listed)


def _run(runs: tuple[Mechanism, ...], data: Any, entropy: Entropy) -> Any:
    """One run of a candidate drawn uniformly; which one was drawn may be told, it says nothing about the data."""
    chosen = runs[uniform_below(len(runs), entropy)] if len(runs) > 1 else runs[0]
    return chosen.function(data, entropy)


def _one_run(runs: tuple[Mechanism, ...], d_in: Distance) -> Cost:
    costs = [each.privacy_map(d_in) for each in runs]
    return costs[0] if len(set(costs)) == 1 else Mixed((Fraction(1, len(costs)), each) for each in costs)


def _number_of_tries(price: Selected) -> Callable[[Entropy], int]:
    if price.stopping is Stopping.POISSON:
        return lambda entropy: poisson(price.tries, entropy)
    return lambda entropy: truncated_negative_binomial(price.shape, price.tries, entropy)


def _points(score: Score, answer: Any) -> tuple[int, Any]:
    """A score that can be compared; one that fails or is no number is below all others, because an error would be a release."""
    try:
        return 1, rational(score=score(answer))
    except Exception:
        return 0, 0


def _claims(runs: tuple[Mechanism, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(claim for each in runs for claim in each.claims))
