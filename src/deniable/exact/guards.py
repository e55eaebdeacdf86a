"""Argument checks. Each takes exactly one named value, returns it exact, or refuses it with its name and value.

A float means the number a person reads: `0.1` is one tenth, so ten charges of 0.1 fill a budget of 1.0 exactly.
Guards state the good case and negate it, so NaN never passes.
"""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction

from deniable.errors import InvalidArgument

Real = int | float | Fraction | Decimal
"""What a caller may write for a number; `True`, text, NaN and infinities are refused."""

_LARGEST_POWER_OF_TEN = 5000
_LONGEST_SHOWN = 120


def shown(value: object) -> str:
    """`repr(value)` as one short line, for error messages; never fails, however long or strange the value."""
    try:
        text = str(value) if isinstance(value, Fraction) else " ".join(repr(value).split())
    except Exception:  # a number beyond the interpreter's digit limit, or a broken __repr__
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _one(named: dict[str, object]) -> tuple[str, object]:
    ((name, value),) = named.items()
    return name, value


def _decimal(name: str, value: Decimal) -> Fraction:
    if not value.is_finite():
        raise InvalidArgument(f"{name} must be a finite number, got {shown(value)}")
    if not abs(value.adjusted()) <= _LARGEST_POWER_OF_TEN:  # its exact integers would fill the memory
        raise InvalidArgument(
            f"{name} must be between 1e-{_LARGEST_POWER_OF_TEN} and 1e{_LARGEST_POWER_OF_TEN}, got {shown(value)}"
        )
    return Fraction(value)


def rational(**named: object) -> Fraction:
    """The exact value of one named number; a float is read as its shortest decimal."""
    name, value = _one(named)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool | str):
        raise InvalidArgument(f"{name} must be a number, got {shown(value)}")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidArgument(f"{name} must be a finite number, got {shown(value)}")
        return Fraction(repr(float(value)))
    if isinstance(value, Decimal):
        return _decimal(name, value)
    try:
        return Fraction(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgument(f"{name} must be a number, got {shown(value)}") from None


def positive(**named: object) -> Fraction:
    """One named number above zero."""
    name, value = _one(named)
    number = rational(**{name: value})
    if not number > 0:
        raise InvalidArgument(f"{name} must be positive, got {shown(value)}")
    return number


def nonnegative(**named: object) -> Fraction:
    """One named number, zero or above."""
    name, value = _one(named)
    number = rational(**{name: value})
    if not number >= 0:
        raise InvalidArgument(f"{name} must not be negative, got {shown(value)}")
    return number


def probability(**named: object) -> Fraction:
    """One named number in [0, 1]."""
    name, value = _one(named)
    number = rational(**{name: value})
    if not 0 <= number <= 1:
        raise InvalidArgument(f"{name} must be between 0 and 1, got {shown(value)}")
    return number


def open_probability(**named: object) -> Fraction:
    """One named number strictly between 0 and 1."""
    name, value = _one(named)
    number = rational(**{name: value})
    if not 0 < number < 1:
        raise InvalidArgument(f"{name} must be strictly between 0 and 1, got {shown(value)}")
    return number


def integer(*, least: int | None = None, greatest: int | None = None, **named: object) -> int:
    """One named whole number, from `least` to `greatest` where those are given; `2.0` is refused, so is `True`."""
    name, value = _one(named)
    if isinstance(value, bool):
        raise InvalidArgument(f"{name} must be a whole number, got {shown(value)}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        if isinstance(value, Fraction) and value.denominator == 1:
            number = value.numerator
        else:
            raise InvalidArgument(f"{name} must be a whole number, got {shown(value)}") from None
    if least is not None and not number >= least:
        raise InvalidArgument(f"{name} must be at least {least}, got {shown(value)}")
    if greatest is not None and not number <= greatest:
        raise InvalidArgument(f"{name} must be at most {greatest}, got {shown(value)}")
    return number
