"""What a release says about itself, in sentences made from public facts only."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.accounting import epsilon as read_epsilon
from deniable.accounting.explanation import leaked_delta
from deniable.cost import Cost
from deniable.exact import loss_text, number_of, weak_promise
from deniable.exact.figures import counted, plural
from deniable.ledger.numbers import digits
from deniable.plan.codebook import Codebook
from deniable.plan.expression import columns
from deniable.plan.provenance import variable_of
from deniable.plan.unit import Unit
from deniable.query import CompiledQuery, Price
from deniable.release.promise import neighbours, promise
from deniable.release.purchase import Purchase
from deniable.release.release_facts import ReleaseFacts

if TYPE_CHECKING:
    from deniable.release.session_budget import BudgetedSession
    from deniable.release.value import Stated


def loss(price: Price) -> str:
    """The price's loss in one phrase, rounded up."""
    return str(price.pair)


_SELECTION = "Errors hold before it is known which groups are shown; small groups that are shown come out too large."


def contribution(compiled: CompiledQuery) -> str:
    """How one unit was bounded."""
    bounding = compiled.plan.bounding
    groups = f"at most {counted(bounding.groups, 'group')}" if compiled.plan.keys else "one total"
    rows = "" if bounding.rows_per_unit is None else f", {counted(bounding.rows_per_unit, 'row')} in all"
    return "; ".join(filter(None, [f"{groups}{rows}", compiled.notes[0]]))


def guarantee(price: Price, unit: Unit, compiled: CompiledQuery, rehearsal: bool) -> str:
    """The promise of one release, in one sentence."""
    if rehearsal:
        return "NO GUARANTEE: drawn with testing entropy, not with secret noise."
    trusted = f" It trusts the curator's word that each {unit.label} has one row." if unit.unique else ""
    said = promise(loss(price), price.pair.loss if price.pair.unit == "epsilon" else None, price.pair.delta, unit)
    return f"Guarantee: {said} ({contribution(compiled)}).{trusted}"


def notes(price: Price, codebook: Codebook, compiled: CompiledQuery) -> list[str]:
    """What the reader must know besides."""
    said = [f"Errors are for noise alone, {price.basis}; {_not_included(codebook)}."]
    if price.threshold is not None:
        least = " or ".join(map(str, price.thresholds))
        said.append(f"Groups with a noisy count of fewer than {least} {_units(codebook)} are not shown. {_SELECTION}")
    more = [*compiled.measured_notes, *compiled.notes[1:]]
    said += [f"{note[0].upper()}{note[1:]}." for note in more]
    return said + weak_promise(price.pair.loss if price.pair.unit == "epsilon" else None, price.pair.delta)


def _units(codebook: Codebook) -> str:
    return "units" if codebook.unit is None else plural(codebook.unit.label)


def _not_included(codebook: Codebook) -> str:
    sampled = "sampling error and " if codebook.sampling is not None else ""
    return f"{sampled}the effect of clipping and of bounds on units is not included"


def outputs_said(compiled: CompiledQuery) -> str:
    """What a query computes, and by which keys."""
    by = f" by {', '.join(compiled.keys.names)}" if compiled.keys.names else ""
    return f"{', '.join(name for name, _ in compiled.outputs)}{by}"


def facts(session: BudgetedSession, compiled: CompiledQuery, price: Price) -> ReleaseFacts:
    """The facts of a release for its release table."""
    spend = price.pair
    epsilon, delta = (spend.loss, spend.delta) if spend.unit == "epsilon" else _as_epsilon(price, session)
    sampling = session.codebook.sampling
    return ReleaseFacts(
        scope=f"{outputs_said(compiled)} from {session.name}",
        epsilon=epsilon,
        delta=delta,
        unit=session.unit.phrase,
        mechanisms=_mechanisms(compiled, price),
        preprocessing=(contribution(compiled),),
        dataset=session.name,
        measure=f"({loss(price)}), read from the cost record",
        neighbours=neighbours(session.unit),
        contribution=contribution(compiled),
        sampling=sampling.design if sampling else "",
        keys=compiled.keys.sentence(),
        composition=session.filters.theorem,
        adaptivity=session.filters.adaptivity.value,
        accuracy=tuple(f"{name}: {error}" for name, error in price.errors.items()),
        bounds=bounds(compiled),
        suppression=f"fewer than {number_of(price.threshold, 'noisy unit')}" if price.threshold is not None else "none",
        failure=failure(price.cost, delta),
        postprocessing=postprocessing(compiled),
        not_included=(_not_included(session.codebook),),
    )


def value_statement(session: BudgetedSession, bought: Purchase, accuracy: Stated) -> tuple[str, ReleaseFacts]:
    """The promise of a mechanism's release in one sentence, and the facts for its release table."""
    if bought.epsilon is not None:
        loss, read_delta = bought.epsilon, bought.delta
        stated = loss_text("epsilon", loss, read_delta)
    else:
        rho = session.filters.read(bought.charge).parts[0]
        read_delta = session.rule.limit.delta or Fraction(1, 10**6)
        loss = Fraction(read_epsilon(bought.cost, delta=read_delta).upper)
        stated = str(rho)
    if session.rehearsal:
        said = "NO GUARANTEE: drawn with testing entropy, not with secret noise."
    else:
        trusted = "".join(f" It trusts {claim}." for claim in bought.mechanism.claims)
        said = f"Guarantee: {promise(stated, bought.epsilon, bought.delta, session.unit)}.{trusted}"
    recipe = bought.mechanism.recipe
    facts = ReleaseFacts(
        scope=f"one answer of a mechanism from {session.name}",
        epsilon=loss,
        delta=read_delta,
        unit=session.unit.phrase,
        mechanisms=(
            "a mechanism with a function of its author's own" if recipe is None else recipe.split(" >> ", 1)[-1],
        ),
        dataset=session.name,
        measure=f"({stated}), read from the cost record",
        neighbours=neighbours(session.unit),
        composition=session.filters.theorem,
        adaptivity=session.filters.adaptivity.value,
        failure=failure(bought.cost, read_delta),
        accuracy=tuple(str(each) for each in (accuracy if isinstance(accuracy, tuple) else (accuracy,)) if each),
        not_included=(_not_included(session.codebook),),
    )
    return said, facts


def failure(cost: Cost, delta: Fraction) -> str:
    """Whether a delta is a leak, the chance that something shows as it is, or the tail of a loss that is rarely large."""
    if not delta:
        return "nothing: there is no delta"
    lost = leaked_delta(cost)
    if not lost:
        return "a tail: the loss is rarely above epsilon, and then little above it"
    share = "all of it" if lost >= delta else digits(lost)
    return f"a leak, {share}: the chance that something rare shows as it is" + (
        "" if lost >= delta else "; the rest is a tail, a loss that is rarely above epsilon"
    )


def postprocessing(compiled: CompiledQuery) -> tuple[str, ...]:
    """What was done to noisy values before they were shown."""
    declared = [part for part in compiled.slices if not part.observed]
    under = [part for part in compiled.slices if part.other and part.sensitivity_level in compiled.plan.grouping]
    fitted = compiled.additive and (len(declared) > 1 or under)
    said = ["levels fitted by least squares so that totals add up"] if fitted else []
    return (*said, *(["counts made non-negative whole numbers"] if compiled.whole else []))


def bounds(compiled: CompiledQuery) -> str:
    """The declared bounds that sums rest on, each with its provenance."""
    names = sorted(set().union(*(columns(expression) for expression in compiled.plan.inputs)))
    found = [(name, variable_of(compiled.plan.source, name)) for name in names]
    return "; ".join(
        f"{name} in [{variable.lower}, {variable.upper}]" + (f" ({variable.provenance})" if variable.provenance else "")
        for name, variable in found
        if variable is not None and variable.lower is not None
    )


def _as_epsilon(price: Price, session: BudgetedSession) -> tuple[Fraction, Fraction]:
    delta = session.rule.limit.delta or Fraction(1, 10**6)
    return Fraction(read_epsilon(price.cost, delta=delta).upper), delta


def _mechanisms(compiled: CompiledQuery, price: Price) -> tuple[str, ...]:
    used = []
    if compiled.measurements.additive:
        used.append(f"{price.law} noise on integers")
    if compiled.measurements.selections or compiled.measurements.found:
        used.append("exponential mechanism")
    if price.threshold is not None:
        used.append("threshold on the noisy number of units")
    return tuple(used)
