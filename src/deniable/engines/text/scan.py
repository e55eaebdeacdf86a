"""Where the rows and cells of a text file begin and end: one grammar, read from the first byte to the last.

A row ends at a line feed (a carriage return before it is dropped) that stands outside quotes. Quotes open a cell, close it, or
stand doubled inside it; any other quote is refused with its line. So a line feed is outside quotes exactly when an even number
of quotes stands before it, and every file that is accepted has an even number of them.

Guarantee: two accepted files that differ by whole lines of one person, put in or taken out between rows, have the same other
rows: each such line has an even number of quotes, or its file would be refused (docs/theory/text-files.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument

Bytes: TypeAlias = NDArray[np.uint8]
Places: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

QUOTE, FEED, RETURN = 34, 10, 13


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the cells of one file are kept apart: a separator (one byte), and whether quotes mean anything."""

    separator: int
    quotes: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Scanned:
    """The whole rows at the beginning of some bytes: where each starts and ends (its line feed), and what is a separator."""

    data: Bytes
    starts: Places
    ends: Places
    separators: Flags
    quotes: Places
    dialect: Dialect

    def row(self, index: int) -> tuple[bytes, Places]:
        """One row, without its line end, and the places of its separators in it."""
        start, end = int(self.starts[index]), int(self.ends[index])
        if end > start and self.data[end - 1] == RETURN:
            end -= 1
        return self.data[start:end].tobytes(), np.flatnonzero(self.separators[start:end])


def inside_quotes(data: Bytes) -> Flags:
    """For every byte whether an odd number of quotes stands up to it."""
    return np.bitwise_xor.accumulate((data == QUOTE).view(np.uint8)).view(np.bool_)


def scanned(data: Bytes, dialect: Dialect, *, line: int, whole: bool) -> Scanned:
    """The rows that end in `data`, which starts at a row; a quote out of place is refused, `line` being the first one's number.

    `whole` says that nothing follows, so that a quote still open is refused too.
    """
    feeds, separators = data == FEED, data == dialect.separator
    quotes = np.flatnonzero(data == QUOTE) if dialect.quotes else np.zeros(0, dtype=np.int64)
    if len(quotes):
        _check(data, quotes, dialect.separator, line=line, whole=whole)
        outside = ~inside_quotes(data)
        feeds &= outside
        separators &= outside
    ends = np.flatnonzero(feeds)
    starts = np.concatenate([np.zeros(min(1, len(ends)), dtype=np.int64), ends[:-1] + 1])
    stop = int(ends[-1]) + 1 if len(ends) else 0
    return Scanned(data[:stop], starts, ends, separators[:stop], quotes[: np.searchsorted(quotes, stop)], dialect)


def _check(data: Bytes, quotes: Places, separator: int, *, line: int, whole: bool) -> None:
    """Refuse the first quote that neither opens a cell nor closes one nor is doubled."""
    opening, closing = quotes[0::2], quotes[1::2]
    before = data[np.maximum(opening - 1, 0)]
    opens = (opening == 0) | (before == separator) | (before == FEED)
    doubled = np.zeros(len(opening), dtype=bool)
    doubled[1:] = opening[1:] == closing[: len(opening) - 1] + 1
    opens |= doubled
    last = len(data) - 1
    after = data[np.minimum(closing + 1, last)]
    returned = (after == RETURN) & (data[np.minimum(closing + 2, last)] == FEED)
    closes = (closing == last) | (after == separator) | (after == FEED) | (after == QUOTE) | returned
    closes |= (closing + 1 == last) & (after == RETURN)  # the file ends here, or its next byte is looked at later
    wrong = [(int(place), "a quote stands inside a cell that does not begin with one") for place in opening[~opens][:1]]
    for place in closing[~closes][:1]:
        first = opening[(opening < place) & ~doubled][-1]
        wrong.append((int(first), "the quote that opens a cell here is closed before other text, or not closed"))
    if whole and len(quotes) % 2:
        wrong.append((int(opening[~doubled][-1]), "the quote that opens a cell here is never closed"))
    if wrong:
        place, why = min(wrong)
        raise InvalidArgument(f"line {line + int(np.count_nonzero(data[:place] == FEED)):,}: {why}")
