"""Mechanisms that cost less because chance hides who took part: on a secret sample, through a shuffler, on disjoint batches.

Each combinator draws with our own entropy inside the mechanism and prices exactly what it draws. Designs for which no theorem
promises anything are refused with the reason (docs/theory/sampling.md, docs/theory/shuffling.md).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from deniable import accounting
from deniable.core.cells import cells
from deniable.core.distance import Distance, plain
from deniable.core.domain import Rows
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.metric import ChangeOne, DiscreteDistance, Hamming, InsertDelete, SymmetricDistance
from deniable.core.sampler import sampler
from deniable.core.space import Space
from deniable.core.step import Step, step
from deniable.cost import FREE, Cost, Shuffled
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer
from deniable.mechanisms.lattice_norms import added_or_removed, rows_of
from deniable.noise import Entropy, permutation, uniforms_below


@step
def sampled(
    space: Space,
    inner: Step[Mechanism],
    *,
    rate: Real | None = None,
    size: int | None = None,
    cap: int | None = None,
) -> Mechanism:
    """`inner` on a fresh secret sample: each unit with chance `rate` (then at most `cap` of them), or exactly `size` rows.

    Units are a frame's people where it has an identifier, else rows. A sample of a fixed size needs a public number of rows.

    Guarantee: amplification by sampling, `Sampled` (for a cap, mixed with the case where one unit pushes another out), between data
    sets one unit apart: added or removed, or replaced, as the metric of the space says. More than one unit is refused.
    The sample is drawn anew for every answer and is not part of the answer.
    """
    drawn = sampler(space, rate=rate, size=size, cap=cap)
    mechanism = inner.build(drawn.target)

    def answer(data: Any, entropy: Entropy) -> Any:
        return mechanism.function(drawn.draw(data, entropy), entropy)

    def cost(d_in: Distance) -> Cost:
        return drawn.cost(mechanism.privacy_map, d_in)

    utility = mechanism.utility and mechanism.utility.reworded(_about_the_sample)
    return Mechanism(space, answer, cost, utility, mechanism.claims)


@step
def shuffled(space: Space, local: Step[Mechanism]) -> Mechanism:
    """Every row through the `local` randomiser, the reports in a uniformly random order.

    Guarantee: amplification by shuffling, `Shuffled`, for a purely private randomiser and a public number of reports: who said
    what is hidden, how many said what is not. For several rows the loss of a group.
    """
    domain = rows_of(space, "shuffled")
    if domain.size is None or domain.size == 0 or not isinstance(space.metric, ChangeOne | Hamming):
        raise SpaceMismatch(
            f"shuffling needs a public number of reports of which one is replaced, got {space!r}; declare rows(..., size=n)"
        )
    report = local.build(Space(domain.element, DiscreteDistance()))
    price = Shuffled(epsilon=accounting.pure(report.privacy_map(Fraction(1))), reports=domain.size)

    def answer(data: Any, entropy: Entropy) -> list[Any]:
        reports = [report.function(row, entropy) for row in cells(data)]
        return [reports[int(at)] for at in permutation(len(reports), entropy)]

    def cost(d_in: Distance) -> Cost:
        changed = int(plain(d_in))  # whole rows change: a distance below one is none
        return FREE if not changed else price if changed == 1 else price.group(changed)

    each = _about_each(domain.size, "of each report about its own row")
    utility = report.utility and report.utility.reworded(each)
    return Mechanism(space, answer, cost, utility, report.claims)


@step
def in_batches(space: Space, inner: Step[Mechanism], *, batches: int) -> Mechanism:
    """`inner` on each of several disjoint batches; every row goes to one of them, independently and uniformly.

    Guarantee: a row is in one batch, so only the worst batch is paid for; a row replaced is one removed and one added there.
    This is parallel composition and no amplification: a pass through shuffled batches does not cost what Poisson samples cost.
    """
    domain, count = rows_of(space, "in_batches"), integer(batches=batches, least=1)
    ordered = isinstance(space.metric, InsertDelete | Hamming)
    part = Space(Rows(domain.element), InsertDelete() if ordered else SymmetricDistance())
    mechanism = inner.build(part)

    def answer(data: Any, entropy: Entropy) -> list[Any]:
        rows = cells(data)
        place = uniforms_below(count, len(rows), entropy).tolist()
        groups: list[list[Any]] = [[] for _ in range(count)]
        for row, index in zip(rows, place, strict=True):
            groups[index].append(row)
        return [mechanism.function(group, entropy) for group in groups]

    each = _about_each(count, "of each answer about its own batch")
    utility = mechanism.utility and mechanism.utility.reworded(each)
    return Mechanism(space, answer, _one_batch(mechanism.privacy_map, space), utility, mechanism.claims)


def _about_the_sample(inner: Utility) -> Utility:
    """The inner accuracy, which holds whatever the inner mechanism was given, and says of what."""
    return Utility(f"{inner.measure}, of the sample that was drawn", inner.error, inner.everywhere)


def _about_each(count: int, whom: str) -> Callable[[Utility], Utility]:
    """The same of each of `count` answers; all at once by adding up the chances of failure."""

    def said(inner: Utility) -> Utility:
        one = inner.everywhere or inner.error
        return Utility(f"{inner.measure}, {whom}", inner.error, lambda beta: one(beta / count))

    return said


def _one_batch(inner: Callable[[Distance], Cost], space: Space) -> Callable[[Distance], Cost]:
    def cost(d_in: Distance) -> Cost:
        if not plain(d_in) <= 1:
            raise InvalidArgument(
                f"in_batches is priced for one row at a time, got d_in = {d_in}: several rows reach several batches; "
                "ask for .cost(d_in=1).group(...)"
            )
        moved = added_or_removed(space.metric, d_in)
        return inner(Fraction(moved)) if moved else FREE

    return cost
