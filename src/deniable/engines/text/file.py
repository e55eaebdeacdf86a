"""A text file as a source: where it is, how its cells are kept apart, what its header says.

The separator is declared, or found from the header line and the codebook's names alone: both are public, no row is looked at.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from deniable.engines.text.scan import FEED, QUOTE, Dialect, inside_quotes, scanned
from deniable.engines.text.text_rows import row_cells
from deniable.errors import InvalidArgument

KINDS = (".csv", ".tsv", ".tab", ".txt", ".psv")
"""How the names of text files end; `.gz` may follow."""

LONGEST_HEADER = 1 << 24
_PIECE = 1 << 18
_USUAL = b",;\t|"
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file of text with one row per line, the first naming the columns: CSV and its kin, gzipped or not.

    `separator` is one ASCII character between cells; not given, it is the one that parts the header into the codebook's names.
    `quotes` says whether cells may stand in double quotes; without it a quote is a character like any other and every line
    is a row.
    """

    path: str | os.PathLike[str]
    separator: str | None = None
    quotes: bool = True

    def __post_init__(self) -> None:
        given = self.separator
        if given is not None and not (isinstance(given, str) and len(given) == 1 and given.isascii()):
            raise InvalidArgument(f"separator must be one ASCII character, got {given!r}")
        if given in ('"', "\n", "\r"):
            raise InvalidArgument(f"separator must not be a quote or a line end, got {given!r}")

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return Path(self.path).name


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line says: the names of the columns, how cells are kept apart, and where the rows begin."""

    names: tuple[str, ...]
    dialect: Dialect
    size: int
    lines: int


def is_text(path: Path) -> bool:
    """Whether a file's name says that it is text."""
    return Path(path.name.lower().removesuffix(".gz")).suffix in KINDS


@contextmanager
def opened(file: TextFile) -> Iterator[BinaryIO]:
    """The bytes of the file, unpacked; a file that cannot be read is refused without its words."""
    path = Path(file.path)
    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as bytes_:
            yield cast(BinaryIO, bytes_)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InvalidArgument(f"{file.name} cannot be unpacked: it is not gzip or it is cut short") from None
    except OSError as error:
        raise InvalidArgument(f"{file.name} cannot be read: {error.strerror}") from None


def header(file: TextFile, wanted: Sequence[str] = ()) -> Header:
    """The header of a file; `wanted` are the names the codebook declares."""
    with opened(file) as bytes_:
        start = bytes_.read(len(_MARK))
        mark = len(_MARK) if start == _MARK else 0
        line = _first_row(start[mark:], bytes_, file)
    text = line.rstrip(b"\n").removesuffix(b"\r")
    try:
        shown = text.decode()
    except UnicodeDecodeError:
        raise InvalidArgument(f"{file.name}: its first line is not UTF-8; save the file as UTF-8") from None
    if not text or "\0" in shown:
        raise InvalidArgument(f"{file.name}: its first line must name the columns; it is empty or not text")
    if "\r" in shown:
        raise InvalidArgument(
            f"{file.name}: rows must end with a line feed; save the file with Unix or Windows line ends"
        )
    dialect = Dialect(_separator(file, text, wanted), file.quotes)
    return Header(tuple(_names(text, dialect)), dialect, mark + len(line), line.count(b"\n"))


def _first_row(start: bytes, bytes_: BinaryIO, file: TextFile) -> bytes:
    """Up to the first line feed outside quotes, and with it."""
    while len(start) < LONGEST_HEADER:
        fresh = bytes_.read(_PIECE)
        start += fresh
        data = np.frombuffer(start, dtype=np.uint8)
        feeds = data == FEED
        if file.quotes:
            feeds &= ~inside_quotes(data)
        ends = np.flatnonzero(feeds)
        if len(ends) or not fresh:
            return start[: int(ends[0]) + 1] if len(ends) else start
    raise InvalidArgument(f"{file.name}: its first line is longer than {LONGEST_HEADER:,} bytes")


def _separator(file: TextFile, line: bytes, wanted: Sequence[str]) -> int:
    if file.separator is not None:
        return ord(file.separator)
    usual = 9 if Path(file.name.lower().removesuffix(".gz")).suffix in (".tsv", ".tab") else ord(",")
    present = [usual, *(mark for mark in _USUAL if mark != usual)]
    if not wanted:
        outside = np.frombuffer(line, dtype=np.uint8)
        outside = outside[~inside_quotes(outside)] if file.quotes else outside
        return max(present, key=lambda mark: int(np.count_nonzero(outside == mark)))
    others = sorted({mark for mark in line if mark < 128 and not chr(mark).isalnum()} - {QUOTE, *present})
    for mark in (*present, *others):
        if _fits(line, Dialect(mark, file.quotes), wanted):
            return mark
    return usual


def _fits(line: bytes, dialect: Dialect, wanted: Sequence[str]) -> bool:
    try:
        return set(wanted) <= set(_names(line, dialect))
    except InvalidArgument:
        return False


def _names(line: bytes, dialect: Dialect) -> list[str]:
    found = scanned(np.frombuffer(line + b"\n", dtype=np.uint8), dialect, line=1, whole=True)
    row, separators = found.row(0)
    cells = row_cells(row, separators, list(range(len(separators) + 1)), quotes=dialect.quotes)
    return [cell or "" for cell in cells]
