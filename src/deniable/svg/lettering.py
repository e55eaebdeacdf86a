"""Text in a drawing: made safe, measured, shortened.

Names come from data owners and analysts. They are escaped, control characters and direction overrides (which could make
a label read as another) are replaced, and line breaks become spaces.
"""

from __future__ import annotations

import html
import unicodedata

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


def escaped(text: str) -> str:
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


def shortened(text: str, size: float, room: float) -> str:
    """The text, cut with an ellipsis so that it fits into `room`."""
    whole = clean(text)
    if width(whole, size) <= room:
        return whole
    kept = whole
    while kept and width(kept + _ELLIPSIS, size) > room:
        kept = kept[:-1]
    return kept.rstrip() + _ELLIPSIS
