"""Exact numbers as text: losslessly for records, to a few digits and rounded against us for people."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from deniable.errors import InvalidArgument
from deniable.exact import digits as digits

_LONG = 10**4000
"""Python refuses to print longer integers in decimal (4300 digits); those are written in hexadecimal."""


def number_text(value: Fraction | int) -> str:
    """An exact rational as text: "3/2", "-7"; hexadecimal when it is very long."""
    parts = [value.numerator] if value.denominator == 1 else [value.numerator, value.denominator]
    return "/".join(str(part) if abs(part) < _LONG else hex(part) for part in parts)


def number_from_text(text: object) -> Fraction:
    """The rational that `number_text` wrote; floats and other spellings are refused."""
    try:
        if isinstance(text, str):
            return _parsed(text)
    except (ValueError, TypeError, ZeroDivisionError):
        pass
    raise InvalidArgument(f"an exact number is written like '3/2', got {short(text)}")


@lru_cache(maxsize=4096)  # a ledger holds the same few amounts over and over
def _parsed(text: str) -> Fraction:
    value = Fraction(*(int(part, 16) if "x" in part else int(part) for part in text.split("/")))
    if number_text(value) != text:
        raise ValueError
    return value


def fits_json(value: int) -> bool:
    """Can this whole number be written in decimal by JSON?"""
    return abs(value) < _LONG


def short(value: object) -> str:
    """At most 120 characters of a value, for an error message."""
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
