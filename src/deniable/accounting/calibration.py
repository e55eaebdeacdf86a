"""`calibrate`: the one free number of a mechanism or a cost, solved for a target.

The function may return a cost or a mechanism; what it is asked for must rise or fall with the number. The answer, where a
monotone function of one positive number meets a limit, is on the safe side of it, as a short decimal where one is near enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar, cast

from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.pure import Pure
from deniable.accounting.theorems import delta as delta_of
from deniable.accounting.theorems import epsilon as epsilon_of
from deniable.accounting.tradeoffs import TradeOff
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, nonnegative, open_probability, positive, probability

Measured = Callable[[float | int], "float | Fraction | None"]
"""The value at a number; None where the number makes no sense. Rising or falling, it does not matter which."""

_TOLERANCE = 1e-5
_FARTHEST = 60
_MANY = 200
_FIRST = 1.5
Made = TypeVar("Made")


def boundary(measured: Measured, most: Fraction) -> float | int | None:
    """The number nearest the limit with `measured(number) <= most`; None if there is none, or no limit in sight."""
    measured = _remembered(measured)
    # from 1 on, or a little later where fewer make no sense, as for the size of a sample with a variance
    senseless = _value(measured, _FIRST) is None
    whole = senseless and any(_value(measured, k) is not None and _value(measured, k + 1) is not None for k in (1, 2))
    if whole:
        return _whole(measured, most)
    ends = _ends(measured, most)
    if ends is None:
        return None
    safe, unsafe = ends
    return _short(measured, most, *_narrowed(measured, most, safe, unsafe))


def _remembered(measured: Measured) -> Measured:
    """Asked once for each number; 1 and 1.0 are two of them, for some functions take whole numbers only."""
    known: dict[tuple[type, float | int], float | Fraction | None] = {}

    def asked(x: float | int) -> float | Fraction | None:
        if (type(x), x) not in known:
            known[type(x), x] = measured(x)
        return known[type(x), x]

    return asked


def _value(measured: Measured, x: float | int) -> float | Fraction | None:
    found = measured(x)
    return None if found is None or found != found else found


def _fits(measured: Measured, most: Fraction, x: float | int) -> bool:
    found = _value(measured, x)
    return found is not None and found <= most


def _ends(measured: Measured, most: Fraction) -> tuple[float, float] | None:
    """Two neighbouring powers of two, one within the limit and one not (or senseless); sensible pairs first."""
    seen: dict[int, float | Fraction | None] = {0: _value(measured, 1.0)}
    for reach in range(1, _FARTHEST + 1):
        for place in (reach, -reach):
            if place == _vain(seen, most) * reach:
                continue
            seen[place] = _value(measured, 2.0**place)
            inner = place - 1 if place > 0 else place + 1
            before, now = seen[inner], seen[place]
            if before is not None and now is not None and (before <= most) != (now <= most):
                return (2.0**inner, 2.0**place) if before <= most else (2.0**place, 2.0**inner)
    for place in sorted(seen, key=abs):
        inner = place - 1 if place > 0 else place + 1
        before, now = seen.get(inner), seen[place]
        if place and (before is None) != (now is None):
            safe = place if now is not None else inner
            value = seen[safe]
            if value is not None and value <= most:
                return 2.0**safe, 2.0 ** (inner if safe == place else place)
    return None


def _vain(seen: dict[int, float | Fraction | None], most: Fraction) -> int:
    """The sign of the places that lead away from the limit, told by the first two values; 0 if they do not tell."""
    first, second = seen[0], seen.get(1)
    if first is None or second is None or first == second or (first <= most) != (second <= most):
        return 0
    return 1 if (second > first) == (first > most) else -1


def _narrowed(measured: Measured, most: Fraction, safe: float, unsafe: float) -> tuple[float, float]:
    """Where ln of the value, interpolated between the nearest known ones, meets the limit: losses are nearly powers of scales.

    Then a hair to the side not met last, so that both ends close in; halving where that does not help.
    """
    limit = math.log(most) if most > 0 else -math.inf
    points = {math.log(x): _log(measured, x) - limit for x in (safe, unsafe, _FIRST)}
    low, high = math.log(safe), math.log(unsafe)
    hair, before = _TOLERANCE / 8, math.inf
    for turn in range(_MANY):
        width = abs(high - low)
        if width < _TOLERANCE / 4:
            break
        helped, before = (True, before) if turn % 3 else (width < before / 4, width)
        share = (_aimed(points, low, high) - low) / (high - low) if helped else 0.5
        toward = hair / width if min(points, key=lambda at: abs(points[at])) == low else -hair / width
        edge = min(hair / width, 0.02)
        share = min(max(share + toward, edge), 1 - edge) if helped else share
        middle = math.exp(low + share * (high - low))
        if not min(safe, unsafe) < middle < max(safe, unsafe):
            break
        at = math.log(middle)
        points[at] = _log(measured, middle) - limit
        if points[at] <= 0:
            safe, low = middle, at
        else:
            unsafe, high = middle, at
    return safe, unsafe


def _aimed(points: dict[float, float], low: float, high: float) -> float:
    """Where the polynomial through the nearest three points meets 0; the middle if that is nowhere between the ends."""
    near = sorted((value, at) for at, value in points.items() if math.isfinite(value))
    near = sorted(near, key=lambda point: abs(point[0]))[:3]
    if len({value for value, _ in near}) < len(near) or len(near) < 2:
        return (low + high) / 2
    found = 0.0
    for value, at in near:
        found += at * math.prod(other / (other - value) for other, _ in near if other != value)
    return found if min(low, high) < found < max(low, high) else (low + high) / 2


def _log(measured: Measured, x: float) -> float:
    found = _value(measured, x)
    if found is None:
        return math.inf
    if isinstance(found, Fraction):
        return math.log(found.numerator) - math.log(found.denominator) if found > 0 else -math.inf
    return math.log(found) if 0 < found < math.inf else math.inf if found > 0 else -math.inf


def _short(measured: Measured, most: Fraction, safe: float, unsafe: float) -> float:
    """The shortest decimal from just before the limit to just on the safe side of it that is within the limit."""
    away = safe + (safe - unsafe) / abs(safe - unsafe) * abs(safe) * _TOLERANCE / 4
    for low, high in ((min(safe, unsafe), max(safe, unsafe)), (min(safe, away), max(safe, away))):
        candidate = _shortest(low, high)
        if _fits(measured, most, candidate):
            return candidate
    return safe


def _shortest(low: float, high: float) -> float:
    """The decimal with fewest digits in [low, high]."""
    for digits in range(1, 18):
        scale = Fraction(10) ** (digits - 1 - math.floor(math.log10(high)))
        unit = math.ceil(Fraction(low) * scale)
        if unit <= Fraction(high) * scale:
            return float(unit / scale)
    return high


def _whole(measured: Measured, most: Fraction) -> int | None:
    """The same among whole numbers from 1 on."""
    first = _fits(measured, most, 1)
    high = 2
    while _fits(measured, most, high) == first:
        high *= 2
        if high > 2**_FARTHEST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if _fits(measured, most, middle) == first:
            low = middle
        else:
            high = middle
    return low if first else high


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
    if not callable(function):
        raise InvalidArgument(
            f"calibrate takes a function of the number to be found, such as lambda s: ... scale=s, got {function!r}"
        )
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
        return Target(lambda made: delta_of(_cost(made, d_in), epsilon=0).upper, delta, "delta at epsilon = 0")
    return Target(
        lambda made: epsilon_of(_cost(made, d_in), delta=delta).upper, most, f"epsilon at delta = {float(delta):g}"
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
            f"no number brings the {target.name} to {float(min(target.most, Fraction(10**300))):g} or less; "
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
