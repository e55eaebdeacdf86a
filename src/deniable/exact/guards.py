"""Argument checks. Each takes exactly one named value, returns it exact, or refuses it with its name and value.

A float means the number a person reads: `0.1` is one tenth, so ten charges of 0.1 fill a budget of 1.0 exactly.
Guards state the good case and negate it, so NaN never passes.
"""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction

from deniable.errors import InvalidArgument

Real = int | float | Fraction | Decimal
"""What a caller may write for a number; `True`, text, NaN and infinities are refused."""


def _one(named: dict[str, object]) -> tuple[str, object]:
    ((name, value),) = named.items()
    return name, value


def rational(**named: object) -> Fraction:
    """The exact value of one named number; a float is read as its shortest decimal."""
    name, value = _one(named)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or isinstance(value, str):
        raise InvalidArgument(f"{name} must be a number, got {value!r}")
    if isinstance(value, float | Decimal):
        if not (value == value and abs(value) != float("inf")):
            raise InvalidArgument(f"{name} must be a finite number, got {value!r}")
        return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)
    try:
        return Fraction(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgument(f"{name} must be a number, got {value!r}") from None


def positive(**named: object) -> Fraction:
    """One named number above zero."""
    name, value = _one(named)
    number = rational(**{name: value})
    if not number > 0:
        raise InvalidArgument(f"{name} must be positive, got {value!r}")
    return number


def nonnegative(**named: object) -> Fraction:
    """One named number, zero or above."""
    name, value = _one(named)
    number = rational(**{name: value})
    if not number >= 0:
        raise InvalidArgument(f"{name} must not be negative, got {value!r}")
    return number


def probability(**named: object) -> Fraction:
    """One named number in [0, 1]."""
    name, value = _one(named)
    number = rational(**{name: value})
    if not 0 <= number <= 1:
        raise InvalidArgument(f"{name} must be between 0 and 1, got {value!r}")
    return number


def open_probability(**named: object) -> Fraction:
    """One named number strictly between 0 and 1."""
    name, value = _one(named)
    number = rational(**{name: value})
    if not 0 < number < 1:
        raise InvalidArgument(f"{name} must be strictly between 0 and 1, got {value!r}")
    return number


def integer(*, least: int | None = None, **named: object) -> int:
    """One named whole number, at least `least` when that is given; `2.0` is refused, so is `True`."""
    name, value = _one(named)
    if isinstance(value, bool):
        raise InvalidArgument(f"{name} must be a whole number, got {value!r}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        if isinstance(value, Fraction) and value.denominator == 1:
            number = value.numerator
        else:
            raise InvalidArgument(f"{name} must be a whole number, got {value!r}") from None
    if least is not None and not number >= least:
        raise InvalidArgument(f"{name} must be at least {least}, got {value!r}")
    return number
