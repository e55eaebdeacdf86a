"""The rows of a text file in two parts: lines a plain splitter reads, and the few that need care, cell by cell.

A row with too few cells is filled with missing ones, cells too many are left out, an empty line is no row, an empty cell is
missing, quoted or not, and so is a cell that is not UTF-8. Each rule looks at one row alone.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

import numpy as np

from deniable.engines.text.scan import FEED, RETURN, Bytes, Flags, Places, Scanned

APART = 0x1F
"""What keeps cells apart in plain lines: the unit separator."""

LONGEST = 1 << 20
"""Bytes of a line the plain splitter is given; longer ones are read cell by cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """Some rows: `plain` lines with all their cells, `APART`, no quotes; `careful` ones with the chosen cells only."""

    plain: Bytes
    careful: list[list[str | None]]


def taken(scanned: Scanned, *, width: int, chosen: list[int]) -> Taken:
    """The rows that were scanned, of a table `width` columns wide, of which `chosen` are wanted."""
    if not len(scanned.ends):
        return Taken(scanned.data, [])
    empty = _empty(scanned)
    careful = _careful(scanned, width) & ~empty
    quotes = scanned.dialect.quotes
    rows = [row_cells(*scanned.row(index), chosen, quotes=quotes) for index in np.flatnonzero(careful).tolist()]
    return Taken(_plain(scanned, empty | careful), rows)


def _empty(scanned: Scanned) -> Flags:
    length = scanned.ends - scanned.starts
    empty: Flags = (length == 0) | ((length == 1) & (scanned.data[scanned.starts] == RETURN))
    return empty


def _careful(scanned: Scanned, width: int) -> Flags:
    """Rows a plain splitter might read otherwise than we mean."""
    data, ends, starts = scanned.data, scanned.ends, scanned.starts
    cells = np.add.reduceat(scanned.separators.view(np.uint8), starts, dtype=np.int64) + 1
    careful: Flags = (cells != width) | (ends - starts > LONGEST)
    returns = np.flatnonzero(data == RETURN)
    _mark(careful, ends, returns[~_ends_row(scanned, returns)])
    _mark(careful, ends, np.flatnonzero((data == APART) & ~scanned.separators))
    _mark(careful, ends, _doubled(scanned.quotes))
    _mark(careful, ends, _fed(scanned))
    if width == 1:
        _mark(careful, ends, scanned.quotes)  # without its quotes an empty cell would be an empty line
    for place in _not_utf8(data, ends):
        careful[place] = True
    return careful


def _mark(careful: Flags, ends: Places, places: Places) -> None:
    careful[np.searchsorted(ends, places)] = True


def _ends_row(scanned: Scanned, places: Places) -> Flags:
    """Whether these places are the last of a row before its line feed."""
    following = scanned.ends[np.minimum(np.searchsorted(scanned.ends, places), len(scanned.ends) - 1)]
    last: Flags = following == places + 1
    return last


def _doubled(quotes: Places) -> Places:
    """Quotes that stand directly behind one that closes: the two mean one quote."""
    opening, closing = quotes[2::2], quotes[1:-1:2]
    behind: Places = opening[opening == closing + 1]
    return behind


def _fed(scanned: Scanned) -> Places:
    """Line feeds inside quotes."""
    if not len(scanned.quotes):
        return scanned.quotes
    feeds = np.flatnonzero(scanned.data == FEED)
    return np.setdiff1d(feeds, scanned.ends, assume_unique=True)


def _not_utf8(data: Bytes, ends: Places) -> list[int]:
    """The rows with bytes that are not UTF-8; the time is linear however many there are."""
    view, at, found = memoryview(data.tobytes()), 0, list[int]()
    while at < len(view):
        try:
            codecs.utf_8_decode(view[at:], "strict", True)
            break
        except UnicodeDecodeError as error:
            row = int(np.searchsorted(ends, at + error.start))
            found.append(row)
            at = int(ends[row]) + 1
    return found


def _plain(scanned: Scanned, without: Flags) -> Bytes:
    """The bytes of all other rows, made plain."""
    data = scanned.data.copy()
    data[scanned.separators] = APART
    dropped = [scanned.quotes]
    returns = np.flatnonzero(data == RETURN)
    dropped.append(returns[_ends_row(scanned, returns)])
    if not without.any() and not any(len(places) for places in dropped):
        return data
    steps = np.zeros(len(data) + 1, dtype=np.int8)
    steps[scanned.starts[without]] += 1
    steps[scanned.ends[without] + 1] -= 1
    kept = np.add.accumulate(steps[:-1], dtype=np.int8) == 0
    kept[np.concatenate(dropped)] = False
    left: Bytes = data[kept]
    return left


def row_cells(row: bytes, separators: Places, chosen: list[int], *, quotes: bool) -> list[str | None]:
    """The chosen cells of one row; None where there is none, where it is empty, and where it is not UTF-8."""
    edges = [-1, *separators.tolist(), len(row)]
    return [_text(row[edges[i] + 1 : edges[i + 1]], quotes) if i + 1 < len(edges) else None for i in chosen]


def _text(cell: bytes, quotes: bool) -> str | None:
    if quotes and cell[:1] == b'"':
        cell = cell[1:-1].replace(b'""', b'"')
    try:
        return cell.decode() or None
    except UnicodeDecodeError:
        return None
