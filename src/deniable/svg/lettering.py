"""Words and numbers in a drawing.

Text in a drawing: made safe, measured, shortened.

Names come from data owners and analysts. They are escaped, control characters and direction overrides (which could make
a label read as another) are replaced, and line breaks become spaces.

Numbers for people: tick labels and values, with a true minus sign and superscript powers.
"""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Sequence

_NARROW = frozenset("iljtfrI.,:;'|!()[]{} -/\\·")
_WIDE = frozenset("mwMW@%—…×")
_ELLIPSIS = "…"
_TURNING = frozenset(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF)))


def clean(text: str) -> str:
    """The text on one line, with characters that XML forbids or that turn the reading direction replaced."""
    return "".join(_visible(character) for character in " ".join(str(text).split()))


def _visible(character: str) -> str:
    hidden = character in _TURNING or unicodedata.category(character) in ("Cc", "Cs")
    return "\N{REPLACEMENT CHARACTER}" if hidden else character


def escape(text: str) -> str:
    """Text that is safe between tags and inside quoted attributes."""
    return html.escape(clean(text), quote=True)


def width(text: str, size: float) -> float:
    """About how wide the text is at this font size: fonts differ, so leave room."""
    return sum(_advance(character) for character in clean(text)) * size


def _advance(character: str) -> float:
    if character in _NARROW:
        return 0.32
    if character in _WIDE:
        return 0.88
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.05
    return 0.66 if character.isupper() else 0.56


def shorten(text: str, size: float, room: float) -> str:
    """The text, cut with an ellipsis so that it fits into `room`."""
    whole = clean(text)
    if width(whole, size) <= room:
        return whole
    kept = whole
    while kept and width(kept + _ELLIPSIS, size) > room:
        kept = kept[:-1]
    return kept.rstrip() + _ELLIPSIS


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUFFIXES = ((1e9, "B"), (1e6, "M"))


def powers_of_ten(exponents: Sequence[int]) -> list[str]:
    """Labels for powers of ten: plain numbers when all are short, else 10ⁿ for all of them."""
    if all(-3 <= e <= 4 for e in exponents):
        return [f"{10**e:,}" if e >= 0 else f"{10.0**e:.{-e}f}" for e in exponents]
    return [_power(e) if e else "1" for e in exponents]


def _power(exponent: int) -> str:
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def tick(value: float, step: float) -> str:
    """A tick label with as many decimals as the step between ticks needs."""
    if value == 0:
        return "0"
    for unit, suffix in _SUFFIXES:
        if 1e6 <= abs(value) < 1e12 and abs(value) >= unit:
            return _signed(_plain(value / unit, step / unit) + suffix)
    if abs(value) >= 1e12 or step < 1e-4:
        return _scientific(value, step)
    return _signed(_plain(value, step))


def number(value: float, significant: int = 4) -> str:
    """A value for a label or a tooltip."""
    if not math.isfinite(value):
        return _signed("∞" if value > 0 else "-∞") if value == value else "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size >= 9 or size < -4:
        return _scientific(value, 10.0 ** (size - significant + 1))
    digits = max(0, significant - 1 - size)
    text = f"{value:,.{digits}f}"
    return _signed(text.rstrip("0").rstrip(".") if "." in text else text)


def _plain(value: float, step: float) -> str:
    return f"{value:,.{_decimals(step)}f}"


def _decimals(step: float) -> int:
    """How many decimals tell multiples of the step apart: 1 for 0.5 and for 2.5, none for 10 and for 25."""
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    scaled = step * 10.0**digits
    return digits if abs(scaled - round(scaled)) <= 1e-6 * scaled else digits + 1


def _scientific(value: float, step: float) -> str:
    exponent = math.floor(math.log10(abs(value)) + 1e-12)
    mantissa = value / 10.0**exponent if exponent > -300 else value * 1e10 / 10.0 ** (exponent + 10)
    digits = min(6, _decimals(max(step / 10.0**exponent, 1e-9)) if exponent > -300 else 3)
    text = f"{mantissa:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return _signed(_power(exponent) if text == "1" else f"{text}×{_power(exponent)}")


def _signed(text: str) -> str:
    return text.replace("-", "−")
