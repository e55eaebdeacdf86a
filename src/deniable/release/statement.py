"""What a release says about itself, in sentences made from public facts only."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.accounting import epsilon as read_epsilon
from deniable.cost import Neighbours
from deniable.plan.codebook import Codebook
from deniable.plan.expression import columns
from deniable.plan.provenance import variable_of
from deniable.plan.unit import Unit
from deniable.query import Lowered, Price
from deniable.release.facts import ReleaseFacts
from deniable.release.numbers import digits

if TYPE_CHECKING:
    from deniable.release.session import Session


def loss(price: Price) -> str:
    """The price's loss in one phrase, rounded up."""
    delta = f", delta = {digits(price.spend.delta)}" if price.spend.delta else ""
    return f"{price.unit} = {digits(price.spend.loss)}{delta}"


def contribution(ready: Lowered) -> str:
    """How one unit was bounded."""
    bounding = ready.plan.bounding
    groups = f"at most {bounding.groups} group{'s' if bounding.groups > 1 else ''}" if ready.plan.keys else "one total"
    rows = "" if bounding.rows_per_unit is None else f", {bounding.rows_per_unit} rows in all"
    return f"{groups}{rows}; {ready.notes[0]}"


def neighbours(unit: Unit) -> str:
    """Which two data sets cannot be told apart."""
    if unit.neighbours is Neighbours.REPLACE:
        return "data sets that differ in one changed row"
    return f"data sets with and without {unit}"


def guarantee(price: Price, unit: Unit, ready: Lowered, rehearsal: bool) -> str:
    """The promise of one release, in one sentence."""
    if rehearsal:
        return "NO GUARANTEE: drawn with testing entropy, not with secret noise."
    trusted = f" It trusts the curator's word that each {unit.id} has one row." if unit.unique else ""
    return f"Guarantee: {loss(price)} for {neighbours(unit)} ({contribution(ready)}).{trusted}"


def notes(price: Price, codebook: Codebook, ready: Lowered) -> list[str]:
    """What the reader must know besides."""
    said = [f"Errors are for noise alone, with probability {float(price.confidence):g}; {_not_included(codebook)}."]
    if price.threshold is not None:
        least = " or ".join(map(str, price.thresholds))
        said.append(f"Groups with fewer than {least} noisy units are not shown; errors are conditional on being shown.")
    return said + [f"{note[0].upper()}{note[1:]}." for note in ready.notes[1:]]


def _not_included(codebook: Codebook) -> str:
    sampled = "sampling error and " if codebook.sampling is not None else ""
    return f"{sampled}the effect of clipping and of bounds on units is not included"


def facts(session: Session, ready: Lowered, price: Price) -> ReleaseFacts:
    """The facts of a release for its release table."""
    rule = session.rule
    spend = price.spend
    epsilon, delta = (spend.loss, spend.delta) if rule.unit == "epsilon" else _as_epsilon(price, session)
    computed = ", ".join(name for name, _ in ready.outputs)
    by = f" by {', '.join(ready.keys.names)}" if ready.keys.names else ""
    sampling = session.codebook.sampling
    return ReleaseFacts(
        scope=f"{computed}{by} from {session.name}",
        epsilon=epsilon,
        delta=delta,
        unit=str(session.unit),
        mechanisms=_mechanisms(ready, price),
        preprocessing=(contribution(ready),),
        dataset=session.name,
        measure=f"({loss(price)}), read from the cost record",
        neighbours=neighbours(session.unit),
        contribution=contribution(ready),
        sampling=sampling.design if sampling else "",
        keys=ready.keys.sentence(),
        composition=rule.theorem,
        adaptivity=rule.adaptivity.value,
        accuracy=tuple(f"{name}: {error}" for name, error in price.errors.items()),
        bounds=bounds(ready),
        suppression=f"fewer than {price.threshold} noisy units" if price.threshold is not None else "none",
        postprocessing=postprocessing(ready),
        not_included=(_not_included(session.codebook),),
    )


def postprocessing(ready: Lowered) -> tuple[str, ...]:
    """What was done to noisy values before they were shown."""
    declared = [part for part in ready.slices if not part.observed]
    under = [part for part in ready.slices if part.other and part.moved_by in ready.plan.grouping]
    fitted = ready.additive and (len(declared) > 1 or under)
    said = ["levels fitted by least squares so that totals add up"] if fitted else []
    return (*said, *(["counts made non-negative whole numbers"] if ready.whole else []))


def bounds(ready: Lowered) -> str:
    """The declared bounds that sums rest on, each with its provenance."""
    names = sorted(set().union(*(columns(expression) for expression in ready.plan.inputs)))
    found = [(name, variable_of(ready.plan.source, name)) for name in names]
    return "; ".join(
        f"{name} in [{variable.lower}, {variable.upper}]" + (f" ({variable.provenance})" if variable.provenance else "")
        for name, variable in found
        if variable is not None and variable.lower is not None
    )


def _as_epsilon(price: Price, session: Session) -> tuple[Fraction, Fraction]:
    delta = session.rule.limit.delta or Fraction(1, 10**6)
    return Fraction(read_epsilon(price.cost, delta=delta).upper), delta


def _mechanisms(ready: Lowered, price: Price) -> tuple[str, ...]:
    used = []
    if ready.needs.additive:
        used.append(f"{price.law} noise on integers")
    if ready.needs.selections:
        used.append("exponential mechanism")
    if price.threshold is not None:
        used.append("threshold on the noisy number of units")
    return tuple(used)
