"""`calibrate`: the one free number of a mechanism or a cost, solved for a target.

The function may return a cost or a mechanism; what it is asked for must rise or fall with the number. The answer is on the safe
side of the target, with a short decimal where one is near enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar, cast

from deniable.accounting.boundary_search import boundary
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.pure import Pure
from deniable.accounting.theorems import delta as delta_of
from deniable.accounting.theorems import epsilon as epsilon_of
from deniable.accounting.tradeoffs import TradeOff
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, nonnegative, open_probability, positive, probability

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Target:
    """What is measured, and how much of it is allowed."""

    measure: Callable[[Any], float | Fraction]
    most: Fraction
    name: str


def calibrate(
    function: Callable[[Any], Made],
    *,
    epsilon: Real | None = None,
    delta: Real | None = None,
    rho: Real | None = None,
    advantage: Real | None = None,
    true_positive_rate: Real | None = None,
    false_positive_rate: Real | None = None,
    accuracy: Real | None = None,
    confidence: Real = Fraction(19, 20),
    d_in: Any = None,
) -> Made:
    """What `function` returns at the number where the target is just met; that number is its `.parameter`.

    Targets, one of them: `epsilon` (with `delta`, else pure), `rho`, an attacker's `advantage`, a `true_positive_rate` at a
    `false_positive_rate`, or an `accuracy` at a `confidence`. A mechanism needs `d_in`, how far apart neighbours are.

    Guarantee: the target holds for what is returned; the number is within a hundred-thousandth of the best one.
    """
    rates = (true_positive_rate, false_positive_rate)
    given = _one_of(
        epsilon=epsilon, rho=rho, advantage=advantage, true_positive_rate=true_positive_rate, accuracy=accuracy
    )
    if (delta is not None and given != "epsilon") or (rates[0] is None) != (rates[1] is None):
        raise InvalidArgument("delta goes with epsilon, and true_positive_rate with false_positive_rate")
    match given:
        case "epsilon":
            target = _epsilon(nonnegative(epsilon=epsilon), probability(delta=delta or 0), d_in)
        case "rho":
            target = Target(lambda made: _rho(_cost(made, d_in)), nonnegative(rho=rho), "rho")
        case "advantage":
            most = open_probability(advantage=advantage)
            target = Target(lambda made: delta_of(_cost(made, d_in), epsilon=0).upper, most, "advantage")
        case "true_positive_rate":
            level = open_probability(false_positive_rate=false_positive_rate)
            most = open_probability(true_positive_rate=true_positive_rate)
            target = Target(lambda made: TradeOff(_cost(made, d_in)).power(level), most, "true positive rate")
        case _:
            chance = open_probability(confidence=confidence)
            target = Target(lambda made: _error(made, chance), positive(accuracy=accuracy), "error")
    return _solved(function, target)


def _one_of(**targets: Real | None) -> str:
    given = [name for name, value in targets.items() if value is not None]
    if len(given) != 1:
        raise InvalidArgument(f"give one target of {', '.join(targets)}; got {', '.join(given) or 'none'}")
    return given[0]


def _epsilon(most: Fraction, delta: Fraction, d_in: Any) -> Target:
    if delta == 0:
        return Target(lambda made: Pure().read(_cost(made, d_in)), most, "epsilon")
    if most == 0:  # the same promise, and a number to aim by
        return Target(lambda made: delta_of(_cost(made, d_in), epsilon=0).upper, delta, "delta at epsilon 0")
    return Target(
        lambda made: epsilon_of(_cost(made, d_in), delta=delta).upper, most, f"epsilon at delta {float(delta):g}"
    )


def _cost(made: Any, d_in: Any) -> Cost:
    """A cost as it is; a mechanism's cost at `d_in`."""
    if not callable(getattr(made, "cost", None)):
        return made  # type: ignore[no-any-return]
    if d_in is None:
        raise InvalidArgument("to calibrate a mechanism say how far apart neighbours are, for example d_in=1")
    return made.cost(d_in=d_in)  # type: ignore[no-any-return]


def _rho(cost: Cost) -> Fraction:
    read = ZeroConcentrated().read(cost)
    if read.delta:
        raise InvalidArgument("this cost has a delta besides rho; calibrate to epsilon and delta instead")
    return read.loss


def _error(made: Any, confidence: Fraction) -> Fraction:
    if not hasattr(made, "accuracy"):
        raise InvalidArgument(f"only a mechanism has an accuracy, got {type(made).__name__}")
    return Fraction(made.accuracy(confidence=confidence).error)


def _solved(function: Callable[[Any], Made], target: Target) -> Made:
    refusals: list[InvalidArgument] = []
    answers = 0

    def measured(x: float | int) -> float | Fraction | None:
        nonlocal answers
        try:
            value = target.measure(function(x))
        except InvalidArgument as refusal:
            refusals.append(refusal)
            return None
        answers += 1
        return value

    found = boundary(measured, target.most)
    if not answers:
        raise refusals[0]
    if found is None:
        raise InvalidArgument(
            f"no number brings the {target.name} to {float(target.most):g} or less; "
            "the function must rise or fall with its number and reach the target"
        )
    return with_parameter(function(found), found)


def with_parameter(made: Made, parameter: float | int) -> Made:
    """`made`, equal to what it was, with the solved number as its `.parameter`."""
    if not is_dataclass(made) or isinstance(made, type):
        raise InvalidArgument(
            f"calibrate needs a function that returns a cost or a mechanism, got {type(made).__name__}"
        )
    names = [field.name for field in fields(made)]
    if "parameter" in names:
        return replace(made, parameter=parameter)
    if not hasattr(type(made), "parameter"):
        raise InvalidArgument(
            f"calibrate needs a function that returns a cost or a mechanism, got {type(made).__name__}"
        )
    copy: Any = object.__new__(type(made))
    for name in names:
        object.__setattr__(copy, name, getattr(made, name))
    object.__setattr__(copy, "parameter", parameter)
    return cast(Made, copy)
