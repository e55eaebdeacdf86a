"""Numbers as people read them: as many digits as their error allows, rounded so that nothing looks surer than it is.

An error has two figures, rounded up; a value has as many places as its error; the ends of an interval are rounded outwards, and
where they lie about evenly the farther one is shown for both. Whole numbers stay whole, so that counts that add up are seen to, as
long as their error has five digits at most: of a sum that is off by a hundred thousand nobody reads the last four. Frames
and files keep every digit: this is for reading alone. The results are exact text, never floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = int | float | Fraction
NOTHING = "–"
"""What is shown where there is no value, or none that says anything at its price."""
_PLACES = 12
"""More decimal places than anybody reads."""
_ANY_SIZE = Context(prec=1000)
_EVEN = 0.05
_SEEN_TO_ADD_UP = 100_000
"""Whole numbers with a smaller error are written to the last digit."""
_WHOLE = 10**15
"""Floats up to here that are whole numbers are shown as such."""


def floor(number: Fraction, digits: int) -> Decimal:
    """The largest decimal with `digits` places after the point that is at most `number`."""
    scaled = number * Fraction(10) ** digits
    return _decimal(scaled.numerator // scaled.denominator, -digits)


def ceiling(number: Fraction, digits: int) -> Decimal:
    """The smallest decimal with `digits` places after the point that is at least `number`."""
    scaled = number * Fraction(10) ** digits
    return _decimal(-(-scaled.numerator // scaled.denominator), -digits)


def significant_floor(number: Fraction, significant: int) -> Decimal:
    """`floor` with `significant` digits counted from the first that is not zero."""
    return floor(number, significant - 1 - _leading_power(number))


def significant_ceiling(number: Fraction, significant: int) -> Decimal:
    """`ceiling` with `significant` digits counted from the first that is not zero."""
    return ceiling(number, significant - 1 - _leading_power(number))


def digits(value: Fraction, *, downwards: bool = False, most: int = 6) -> str:
    """A number for people, to so many digits: rounded up (a loss), or downwards (what is left)."""
    with localcontext(Context(prec=most, rounding=ROUND_FLOOR if downwards else ROUND_CEILING)):
        number = (Decimal(value.numerator) / Decimal(value.denominator)).normalize()
    return f"{number:f}" if -4 <= number.adjusted() < 9 else f"{number:e}"


def percent_up(chance: float | Fraction, *, places: int = 1) -> str:
    """A chance that is at most so large as a percentage, rounded up: "73.2%"."""
    return f"{ceiling(100 * Fraction(chance), places)}%"


def number_of(count: int, thing: str, things: str | None = None) -> str:
    """So many things, in words that agree: "1 row", "2 rows", "1,000 rows"."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {things or thing + 's'}"


def loss_text(unit: str, loss: Fraction, delta: Fraction | int = 0, *, downwards: bool = False) -> str:
    """A loss or a budget for people, spelt the same everywhere: "epsilon = 0.5, delta = 1e-6".

    Guarantee: rounded up, to six digits; or downwards, for what is left.
    """
    stated = f"{unit} = {digits(loss, downwards=downwards)}"
    return f"{stated}, delta = {digits(Fraction(delta), downwards=downwards)}" if delta else stated


def _decimal(units: int, power: int) -> Decimal:
    # From a tuple, so that no context precision and no limit on the length of integer text can round or refuse it.
    magnitude = abs(units)
    if magnitude < 10**4000:
        return Decimal((int(units < 0), tuple(map(int, str(magnitude))), power))
    high, low = divmod(magnitude, 10**4000)
    digits = _decimal(high, 0).as_tuple().digits + tuple(map(int, str(low).zfill(4000)))
    return Decimal((int(units < 0), digits, power))


def _leading_power(number: Fraction) -> int:
    """The k with 10**k <= abs(number) < 10**(k+1); 0 for zero."""
    n, d = abs(number.numerator), number.denominator
    if not n:
        return 0
    k = (n.bit_length() - d.bit_length()) * 30103 // 100000  # within one or so of the answer, fixed below
    while n < d * Fraction(10) ** k:
        k -= 1
    while n >= d * Fraction(10) ** (k + 1):
        k += 1
    return k


def error_figures(error: Number) -> str:
    """An error with two figures, rounded up; a whole number of five digits at most as it is."""
    if _is_whole(error) and -_SEEN_TO_ADD_UP < error < _SEEN_TO_ADD_UP:
        return f"{int(error):,}"
    return _at(error, places(error), ROUND_CEILING)


def value_figures(value: Number, low: Number, high: Number) -> str:
    """A value with its error: `34.3 ± 3.5`, or with both ends where they lie unevenly: `0.9 [0.4, 1]`."""
    if math.isinf(low) and math.isinf(high):
        return NOTHING
    small = max(high - value, value - low) < _SEEN_TO_ADD_UP
    if small and isinstance(value, int) and all(map(_is_whole, (value, low, high))):
        whole = f"{value:,}"
        return (
            f"{whole} ± {int(high - value):,}" if high - value == value - low else f"{whole} [{low:,.0f}, {high:,.0f}]"
        )
    half = float(_apart(high, low)) / 2 if math.isfinite(high - low) else abs(float(value))
    digits = places(half) if half else _written_places(value)
    shown = f"{value:,}" if isinstance(value, int) and small else _at(value, digits, ROUND_HALF_EVEN)
    if _is_even(value, low, high):
        return f"{shown} ± {_at(max(_apart(value, low), _apart(high, value)), digits, ROUND_CEILING)}"
    return f"{shown} [{_at(low, digits, ROUND_FLOOR)}, {_at(high, digits, ROUND_CEILING)}]"


def plain_figures(value: Number) -> str:
    """A number without an error: whole ones with separators, others to six figures."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{float(value):,.6g}" if abs(float(value)) < 10**6 else f"{float(value):,.0f}"


def short_figures(value: Number) -> str:
    """A number whose error is not in its own units: a whole one with separators, another to three figures."""
    if _is_whole(value):
        return f"{int(value):,}"
    return _at(value, max(0, places(value) + 1), ROUND_HALF_EVEN)


def places(error: Number) -> int:
    """How many decimal places show two figures of an error; negative where those are tens or more."""
    size = abs(float(error))
    if not (math.isfinite(size) and size > 0):
        return 0 if size else _PLACES
    return min(1 - math.floor(math.log10(size)), _PLACES)


def _apart(above: Number, below: Number) -> Number:
    """How far two numbers lie apart as they are written: 36.3 and 36.2 by 0.1."""
    exact: Number = above - below
    if not all(map(math.isfinite, (above, below, exact))):
        return exact
    written, gap = Fraction(str(above)) - Fraction(str(below)), Fraction(exact)
    return written if abs(written - gap) <= abs(gap) / 10**10 else exact


def _written_places(value: Number) -> int:
    """How many decimal places a number without an error is written with."""
    exponent = Decimal(str(float(value))).normalize().as_tuple().exponent
    return min(max(0, -exponent), _PLACES) if isinstance(exponent, int) else 0


def _at(value: Number, digits: int, rounding: str) -> str:
    """A number with so many places; one that is whole, such as a bound, without any."""
    if isinstance(value, float) and math.isinf(value):
        return "∞" if value > 0 else "-∞"
    exact = Decimal(value.numerator) / value.denominator if isinstance(value, Fraction) else Decimal(str(value))
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding=rounding, context=_ANY_SIZE)
    rounded = rounded if rounded else abs(rounded)  # no zero below zero
    if digits <= 0:
        return f"{int(rounded):,}"
    return f"{int(exact):,}" if exact == int(exact) else f"{rounded:,f}"


def _is_whole(value: Number) -> bool:
    return math.isfinite(value) and value == int(value) and abs(float(value)) < _WHOLE


def _is_even(value: Number, low: Number, high: Number) -> bool:
    """Whether both ends are about as far: then the farther one stands for both."""
    left, right = float(value - low), float(high - value)
    return math.isfinite(right - left) and abs(left - right) <= _EVEN * max(left, right)


def text_table(names: Sequence[str], rows: Sequence[Sequence[str]], *, keys: int = 0) -> list[str]:
    """Aligned lines: the names, a rule, the rows; the first `keys` columns to the left, the others to the right."""
    widths = [max(len(row[place]) for row in [names, *rows]) for place in range(len(names))]

    def line(cells: Sequence[str]) -> str:
        sides = (cell.ljust if place < keys else cell.rjust for place, cell in enumerate(cells))
        return "  ".join(side(width) for side, width in zip(sides, widths, strict=True)).rstrip()

    return [line(names), "  ".join("-" * width for width in widths), *map(line, rows)]


_PLURALS = {"person": "people", "child": "children", "man": "men", "woman": "women"}


def plural(noun: str) -> str:
    """Several of something: rows, people, families, boxes; of several words the last one."""
    before, _, word = noun.rpartition(" ")
    lead = f"{before} " if before else ""
    if word.lower() in _PLURALS:
        return f"{lead}{_PLURALS[word.lower()]}"
    if word.endswith("y") and word[-2:-1] not in ("a", "e", "i", "o", "u", ""):
        return f"{lead}{word[:-1]}ies"
    return f"{lead}{word}{'es' if word.endswith(('s', 'x', 'z', 'ch', 'sh')) else 's'}"


def counted(count: int, noun: str) -> str:
    """So many of something: "1 row", "2 rows", "1,000 people"."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"


WEAK_EPSILON, WEAK_DELTA = 10, 1e-4


def weak_promise(epsilon: Fraction | None, delta: Fraction) -> list[str]:
    """What to say of a price or budget that protects little; nothing of a usual one."""
    said = []
    if epsilon is not None and epsilon > WEAK_EPSILON:
        said.append(
            "An epsilon above 10 protects little: one unit may change the chance of an answer more than 22,000-fold."
        )
    if delta > WEAK_DELTA:
        said.append("A delta above 1/10,000 is large: of 10,000 people one could be shown in full.")
    return said
