"""`check`: hold a mechanism, or anything that answers about data, against the cost it claims, on neighbouring data sets.

Where every outcome of every draw can be followed the answer is exact. Otherwise answers are drawn and the two-halves test decides,
with one stated level for all claims, pairs and events together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.audit.answer_columns import Failure, columns, whole
from deniable.audit.answer_events import AnswerEvent, names_text
from deniable.audit.claims import ClaimCurve, claim_text, curve_of
from deniable.audit.comparison import compare, hockey_stick
from deniable.audit.exact_law import PLACES, NotEnumerable, OutputLaw, Pruned, output_law
from deniable.audit.neighbour_search import small_neighbours, within
from deniable.audit.subject import ALL_ERRORS, ALL_SAME, OTHER_SOURCE, OWN_SOURCE, Subject, subject_of
from deniable.audit.two_halves import Choice, Trial, refutable, try_event, two_halves
from deniable.audit.verdict import Verdict
from deniable.core.distance import Distance, distance
from deniable.core.space import Space
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact import exp, number_of
from deniable.exact.guards import Real, integer, open_probability, shown
from deniable.noise import Entropy, system_entropy

OWN_PRICE = "its own price"
Pairs = Sequence[tuple[Any, Any]]
_DRAWS = 20_000
_PATHS = 20_000
_STEPS = 50
_TAIL = Fraction(1, 10**8)
_LINES = 6
_AGAIN = 4
"""Times the laws are followed again before they accuse."""


def check(
    target: Any,
    *,
    claim: Cost | Sequence[Cost] | str = OWN_PRICE,
    neighbours: tuple[Any, Any] | list[tuple[Any, Any]] | None = None,
    tables: Any = None,
    samples: int | None = None,
    level: Real = 0.01,
    d_in: Distance | Real | tuple[Real, Real, Real] = 1,
    space: Space | None = None,
    adapter: str | None = None,
    ask: Callable[[Any], Any] | None = None,
    entropy: Entropy | None = None,
) -> Verdict:
    """Try to refute `claim`: a cost record, several of them, or "its own price" for a mechanism.

    `neighbours` is a pair of data sets or a list of pairs; of a mechanism, `small_neighbours` of its space. `samples` is
    the number of draws for each pair, both sides together; without it the exact law is used where it can be enumerated. `ask`
    holds the conversation with an interactive answer. A question to a session (a function of the session) is audited on `tables`,
    as made by `small_tables`.

    Guarantee: a claim that holds is called broken with probability at most `level`, over all pairs, claims and events together.
    """
    if tables is not None:
        if not hasattr(tables, "check"):
            raise InvalidArgument(f"tables must be made by dp.audit.small_tables(codebook), got {shown(tables)}")
        return tables.check(target, claim=claim, samples=samples, level=level, entropy=entropy)  # type: ignore[no-any-return]
    subject = subject_of(target, adapter=adapter, ask=ask)
    limit, known = distance(d_in), subject.mechanism.source if subject.mechanism else space
    pairs = _pairs(neighbours if neighbours is not None or known is None else small_neighbours(known, d_in=limit))
    _check_neighbours(pairs, known, limit)
    curves = [curve_of(cost) for cost in _claims(claim, subject, limit)]
    if samples is None and OWN_SOURCE not in subject.notes:
        try:
            exact = _repeatable(subject, pairs, curves)
        except _Unsteady:
            subject, exact = replace(subject, notes=(*subject.notes, OTHER_SOURCE)), None
        if exact is not None:
            return exact
    return audit_by_draws(
        subject,
        pairs,
        curves,
        samples=integer(samples=_DRAWS if samples is None else samples, least=2),
        level=float(open_probability(level=level)),
        entropy=entropy or system_entropy(),
    )


def _pairs(neighbours: Any) -> Pairs:
    if isinstance(neighbours, tuple) and len(neighbours) == 2:
        return [neighbours]
    if isinstance(neighbours, list) and neighbours and all(isinstance(p, tuple) and len(p) == 2 for p in neighbours):
        return neighbours
    raise InvalidArgument("neighbours must be a pair (left, right) of data sets, or a list of such pairs")


def _check_neighbours(pairs: Pairs, space: Space | None, limit: Distance) -> None:
    if space is None:
        return
    for left, right in pairs:
        apart = space.metric.distance(left, right, space.domain)
        if not within(apart, limit):
            raise InvalidArgument(
                f"these two are no neighbours: {space.metric!r} puts them {apart} apart and the claim is about {limit}"
            )


def _claims(claim: Any, subject: Subject, limit: Distance) -> list[Cost]:
    if isinstance(claim, str):
        if claim == OWN_PRICE and subject.mechanism is None:
            raise InvalidArgument(
                "claim must be a cost record of dp.costs (--epsilon in the shell): a function has no price of its own"
            )
        if claim != OWN_PRICE or subject.mechanism is None:
            raise InvalidArgument(
                f"claim must be a cost record of dp.costs, or {OWN_PRICE!r} for a mechanism that has one, got {claim!r}"
            )
        return [subject.mechanism.privacy_map(limit)]
    if isinstance(claim, Sequence) and not claim:
        raise InvalidArgument("claim must be at least one cost record, got none")
    return list(claim) if isinstance(claim, Sequence) else [claim]


# By drawing ---------------------------------------------------------------------------------------------------------------


def audit_by_draws(
    subject: Subject, pairs: Pairs, curves: Sequence[ClaimCurve], *, samples: int, level: float, entropy: Entropy
) -> Verdict:
    """The two-halves test for every pair and claim; their errors share one level."""
    each_side, error = samples // 2, level / (len(pairs) * len(curves))
    _check_enough(curves, draws=each_side, samples=samples, error=error)
    trials: list[tuple[ClaimCurve, Trial, tuple[Any, Any]]] = []
    odd = {ALL_SAME: True, ALL_ERRORS: True}
    for pair in pairs:
        left, right = sides = [subject.draws(data, each_side, entropy) for data in pair]
        odd[ALL_ERRORS] &= all(isinstance(answer, Failure) for side in sides for answer in side)
        odd[ALL_SAME] &= not odd[ALL_ERRORS] and all(map(_all_same, sides))
        for curve in curves:
            trials += [(curve, trial, pair) for trial in two_halves(left, right, curve=curve, error=error)]
    best: Any = max(trials, key=lambda each: (each[1].excess, each[1].epsilon), default=(curves[0], None, None))
    curve, worst, pair = best
    broken = worst is not None and worst.broken

    def again(count: int | None, source: Any) -> Trial | None:
        if worst is None or pair is None:
            return None
        draws = each_side if count is None else integer(samples=count, least=2) // 2
        sides = [columns(subject.draws(data, draws, source or system_entropy())) for data in pair]
        choice = Choice(worst.event, worst.reversed, worst.pairs.slope)
        return try_event(choice, *sides, draws=draws, curve=curve, error=level)

    return Verdict(
        subject.name,
        tuple(each.cost for each in curves),
        "samples",
        broken,
        max((_bound(trial, of, curve) for of, trial, _ in trials), default=0.0),
        curve.delta,
        worst.event if worst is not None else None,
        tuple(trial for _, trial, _ in trials),
        level,
        samples,
        len(pairs),
        _kind(entropy, subject),
        (*subject.notes, *(note for note, is_so in odd.items() if is_so)),
        again,
        pair,
        worst.rates if worst is not None else None,
    )


def _all_same(answers: Sequence[Any] | NDArray[Any]) -> bool:
    if isinstance(answers, np.ndarray) and answers.dtype.kind in "iufb":
        return bool((answers == answers[0]).all())
    first = whole(answers[0])
    return all(whole(answer) == first for answer in answers)


def _bound(trial: Trial, of: ClaimCurve, stated: ClaimCurve) -> float:
    """The trial's lower bound on epsilon at the delta that is stated."""
    return trial.epsilon if of.delta == stated.delta else trial.epsilon_at(stated.delta)


def event_counts(
    target: Any,
    event: AnswerEvent,
    *,
    neighbours: tuple[Any, Any],
    draws: int,
    adapter: str | None = None,
    entropy: Entropy | None = None,
) -> tuple[int, int]:
    """How often an event is seen in so many answers about each of two data sets."""
    subject, count = subject_of(target, adapter=adapter), integer(draws=draws, least=1)
    sides = [columns(subject.draws(data, count, entropy or system_entropy())) for data in neighbours]
    left, right = (event.count(side, draws=count) for side in sides)
    return left, right


def _kind(entropy: Entropy, subject: Subject) -> str:
    if OWN_SOURCE in subject.notes or OTHER_SOURCE in subject.notes:
        return "its own"
    return f"testing: {type(entropy).__name__}" if entropy.is_testing else "system"


def _check_enough(curves: Sequence[ClaimCurve], *, draws: int, samples: int, error: float) -> None:
    for curve in curves:
        enough, least = refutable(curve, draws=max(draws, 1), error=error)
        if not enough:
            raise InvalidArgument(
                f"too few draws: with {number_of(samples, 'draw')} no claim above epsilon = {least:.3g} can be refuted, "
                f"and the claim is {claim_text(curve.cost)}; draw more, or leave samples out for the exact law"
            )


# Exactly ------------------------------------------------------------------------------------------------------------------


class _Unsteady(Exception):
    """The same words gave another answer: its law is not that of the draws it makes here."""


def _repeatable(subject: Subject, pairs: Pairs, curves: Sequence[ClaimCurve]) -> Verdict | None:
    """The verdict of the exact laws if they come out the same every time; more often where it would accuse."""
    if not all(subject.repeats_itself(data, system_entropy()) for pair in pairs for data in pair):
        raise _Unsteady
    laws = _laws(subject, pairs, curves, most=_PATHS)
    verdict = None if laws is None else verdict_of_laws(subject.name, laws, curves, notes=subject.notes)
    for _ in range(0 if verdict is None else _AGAIN if verdict.broken else 1):
        if _laws(subject, pairs, curves, most=_PATHS) != laws:
            raise _Unsteady
    return verdict


def audit_exactly(
    subject: Subject, pairs: Pairs, curves: Sequence[ClaimCurve], *, most: int = _PATHS
) -> Verdict | None:
    """The exact laws of the answers on both sides, or None where they cannot be enumerated.

    What is cut off counts e**epsilon times against what can be shown, so tails are cut further out for large claims. Something that
    answers about a data set in one way only may have asked its entropy nothing and drawn elsewhere: it is left to draws.
    """
    laws = _laws(subject, pairs, curves, most=most)
    return None if laws is None else verdict_of_laws(subject.name, laws, curves, notes=subject.notes)


def _laws(
    subject: Subject, pairs: Pairs, curves: Sequence[ClaimCurve], *, most: int
) -> list[tuple[OutputLaw, ...]] | None:
    tail = _TAIL / exp(max(Fraction(curve.losses[-1]) for curve in curves)).upper
    try:
        laws = [tuple(_law(subject, data, tail, most) for data in pair) for pair in pairs]
    except NotEnumerable:
        return None
    return None if any(len(law.chances) == 1 and not law.unknown for sides in laws for law in sides) else laws


def _law(subject: Subject, data: Any, tail: Fraction, most: int) -> OutputLaw:
    def run(entropy: Entropy) -> str:
        try:
            return whole(subject.one(data, entropy))
        except (NotEnumerable, Pruned):
            raise
        except Exception as error:
            return whole(Failure.of(error))

    return output_law(run, tail=tail, most=most)


def verdict_of_laws(
    name: str,
    laws: Iterable[tuple[OutputLaw, ...]],
    curves: Sequence[ClaimCurve],
    *,
    notes: tuple[str, ...] = (),
    losses: Sequence[Real] | None = None,
    words: Callable[[Any], str] | None = None,
) -> Verdict:
    """Two exact laws for each pair, held against each claim in both directions; `words` says an answer as a person reads it."""
    listed = [(left, right) for left, right in laws]
    least, broken, kept, event, rates = 0.0, False, True, None, None
    for left, right in listed:
        least = max(least, *(exact_epsilon(p, q, Fraction(curves[0].delta)) for p, q in ((left, right), (right, left))))
        for curve in curves:
            found = compare(left, right, curve.cost, losses=losses or _lines(curve))
            kept = kept and found.kept
            if not broken and found.broken:
                broken = True
                event = _worst_event(left, right, curve, words) or _worst_event(right, left, curve, words)
                rates = (_chance(left, event), _chance(right, event)) if event else None
    return Verdict(
        name,
        tuple(curve.cost for curve in curves),
        "exact",
        broken,
        least,
        curves[0].delta,
        event,
        (),
        0.0,
        0,
        len(listed),
        "enumerated",
        notes,
        lambda *_: None,
        rates=rates,
        kept=kept,
    )


def _lines(curve: ClaimCurve) -> list[Fraction]:
    """Some of the claim's points, the last among them."""
    step = max(1, len(curve.losses) // _LINES)
    return [Fraction(loss) for loss in curve.losses[::-step]]


def exact_epsilon(left: OutputLaw, right: OutputLaw, delta: Fraction) -> float:
    """The largest epsilon certainly needed at `delta` in this direction: rounded down, infinite where no epsilon is enough.

    Floats look for it, exact arithmetic confirms it.
    """
    if hockey_stick(left, right, Fraction(300)).lower > delta:
        return math.inf
    found = _about_epsilon(left, right, float(delta))
    for slack in (1e-9, 1e-6, 1e-3):
        loss = max(0.0, found - slack)
        if hockey_stick(left, right, Fraction(loss)).lower > delta:
            return loss
    return 0.0


def _about_epsilon(left: OutputLaw, right: OutputLaw, delta: float) -> float:
    """The epsilon at which the hockey-stick divergence of two laws falls to `delta`, in floating point."""
    unit = float(1 << PLACES)
    sides = [(low / unit, right.chances.get(answer, (0, 0))[1] / unit) for answer, (low, _) in left.chances.items()]
    p, q = (np.array([side[k] for side in sides]) for k in (0, 1))
    lost = right.unknown / unit
    low, high = 0.0, 64.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        factor = math.exp(middle)
        if float(np.maximum(p - factor * q, 0).sum()) - factor * lost > delta:
            low = middle
        else:
            high = middle
    return low


def _worst_event(
    p: OutputLaw, q: OutputLaw, curve: ClaimCurve, words: Callable[[Any], str] | None
) -> AnswerEvent | None:
    """The answers that are too likely at the most crossed line."""
    crossed = [
        (hockey_stick(p, q, Fraction(e)).lower - Fraction(d), e)
        for e, d in zip(curve.losses, curve.deltas, strict=True)
    ]
    excess, loss = max(crossed)
    if excess <= 0:
        return None
    factor = exp(Fraction(loss)).upper
    often = [answer for answer, (low, _) in p.chances.items() if low > factor * q.chances.get(answer, (0, 0))[1]]
    said = "" if words is None else f"the answer is {names_text(list(dict.fromkeys(map(words, often))))}"
    return AnswerEvent("answer", names=tuple(sorted(map(_written, often))), said=said)


def _chance(law: OutputLaw, event: AnswerEvent) -> float:
    """About how likely an event of whole answers is."""
    return sum(low for answer, (low, _) in law.chances.items() if _written(answer) in event.names) / (1 << PLACES)


def _written(answer: Any) -> str:
    return answer if isinstance(answer, str) else repr(answer)
