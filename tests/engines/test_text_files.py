"""Text files: what one person's lines hold changes that person's rows only, or the file is refused when it is opened."""

from __future__ import annotations

import gzip
import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import deniable as dp
from deniable.engines import connect
from deniable.engines.cell_rules import raw
from deniable.engines.sources import ParquetFiles, table_source
from deniable.engines.text import text_rows as rows_module
from deniable.engines.text import text_store as store
from deniable.engines.text.file import Header, TextFile, header, opened
from deniable.engines.text.scan import Dialect
from deniable.engines.text.text_rows import Taken, taken
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import Bounding, GroupAgg, KeyColumn, RowCount, Total, Units, scan
from deniable.plan.variable import Type
from tests.engines.random_plans import KEY, as_values

BOOK = Codebook.from_yaml(
    "{unit: {id: who, groups: 1, rows_per_group: 2}, table: t, "
    "variables: {who: integer, v: {type: integer, bounds: [0, 9]}, s: string}}"
)
ODD = {
    "fine": b"77|1|fine",
    "quoted line feed": b'77|1|"two\nlines"',
    "quoted carriage return and line feed": b'77|1|"two\r\nlines"',
    "quoted row of another": b'77|1|"\n5|9|x\n"',
    "doubled quotes": b'77|1|"she said ""no"""',
    "quoted separator": b'77|1|"a|b"',
    "quoted and empty": b'77|1|""',
    "quote inside an unquoted cell": b"77|1|5'10\"",
    "quote in the middle of a cell": b'77|1|a"b',
    "quote that is never closed": b'77|1|"w',
    "quote that is never closed, first cell": b'"77|1|w',
    "backslash before a quote": b'77|1|"w\\"w"',
    "text after the closing quote": b'77|1|"a"b',
    "space after the closing quote": b'77|1|"a" ',
    "space before the opening quote": b'77|1| "a"',
    "one quote": b'77|1|"',
    "three quotes": b'77|1|"""',
    "too many cells": b"77|1|a|b|c",
    "too few cells": b"77|1",
    "one cell": b"77",
    "only separators": b"||||",
    "a zero byte": b"77|1|a\0b",
    "carriage return inside": b"77|1|a\rb",
    "carriage return at the end": b"77|1|a\r",
    "not UTF-8": b"77|1|\xe9t\xe9",
    "not UTF-8 in a number": b"77|\xff|a",
    "the unit separator": b"77|1|a\x1fb",
    "a byte order mark": b"\xef\xbb\xbf77|1|a",
    "a huge cell": b"77|1|" + b"x" * 3_000_000,
    "empty lines": b"77|1|a\n\n\r\n",
    "a comment": b"# 77|1|a",
}
REFUSED = {
    "quote inside an unquoted cell", "quote in the middle of a cell", "quote that is never closed", "three quotes", "one quote",
    "quote that is never closed, first cell", "backslash before a quote", "text after the closing quote",
    "space after the closing quote", "space before the opening quote",
}  # fmt: skip
PATHS = {
    "comma": ("t.csv", b","),
    "gzip": ("t.csv.gz", b","),
    "tab": ("t.tsv", b"\t"),
    "semicolon": ("t.csv", b";"),
    "bar": ("t.txt", b"|"),
    "caret": ("t.csv", b"^"),
}
PLAIN = [b"%d|%d|%s" % (who, who % 10, b'"q, r"' if who % 4 == 0 else b"w") for who in range(12)]


def _written(path: Path, lines: list[bytes], separator: bytes) -> Path:
    data = b"\n".join([b"who|v|s", *lines, b""]).replace(b"|", separator)
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)
    return path


def _read(source: Any, folder: Path) -> list[tuple[Any, ...]]:
    """The rows as they are kept."""
    kept = table_source(source, BOOK["t"], folder)
    assert isinstance(kept, ParquetFiles)
    return duckdb.execute("SELECT who, v, s FROM read_parquet(?)", [list(kept.paths)]).fetchall()


def _split(file: TextFile) -> Counter[tuple[str | None, ...]]:
    """The rows as they are split, before they are typed."""
    known = header(file, ["who", "v", "s"])
    found: Counter[tuple[str | None, ...]] = Counter()
    with opened(file) as bytes_:
        bytes_.read(known.size)
        for part in store._scans(bytes_, known):
            found.update(_texts(taken(part, width=3, chosen=[0, 1, 2])))
    return found


def _texts(rows: Taken) -> Iterator[tuple[str | None, ...]]:
    yield from map(tuple, rows.careful)
    for line in rows.plain.tobytes().decode().split("\n")[:-1]:
        yield tuple(cell or None for cell in line.split("\x1f"))


def _places(odd: str) -> Iterator[tuple[int, list[bytes]]]:
    for place in (0, len(PLAIN) // 2, len(PLAIN)):
        yield place, [*PLAIN[:place], ODD[odd], *PLAIN[place:]]


@pytest.mark.parametrize("way", PATHS)
def test_an_odd_line_changes_its_own_rows_only(way: str, tmp_path: Path) -> None:
    name, separator = PATHS[way]
    wanted = _split(TextFile(_written(tmp_path / name, PLAIN, separator)))
    assert sum(wanted.values()) == 12
    for odd in ODD:
        for place, lines in _places(odd):
            file = TextFile(_written(tmp_path / name, lines, separator))
            if odd in REFUSED:
                with pytest.raises(InvalidArgument, match=f"line {place + 2}: "):
                    _split(file)
            else:
                assert wanted <= _split(file), (odd, place)


@pytest.mark.parametrize("way", PATHS)
def test_where_quotes_are_characters_no_line_is_refused(way: str, tmp_path: Path) -> None:
    name, separator = PATHS[way]
    wanted = _split(TextFile(_written(tmp_path / name, PLAIN, separator), quotes=False))
    for odd in ODD:
        for place, lines in _places(odd):
            file = TextFile(_written(tmp_path / name, lines, separator), quotes=False)
            assert wanted <= _split(file), (odd, place)


def test_the_rows_that_are_kept_are_those_that_were_split(tmp_path: Path) -> None:
    """Every kind of line that is accepted, all in one file; the columns are typed by the codebook."""
    lines = [*PLAIN, *(line for odd, line in ODD.items() if odd not in REFUSED), *PLAIN]
    for name, separator in PATHS.values():
        path = _written(tmp_path / name, lines, separator)
        wanted = Counter((_whole(who), _whole(v), s) for who, v, s in _split(TextFile(path)).elements())
        assert Counter(_read(path, tmp_path)) == wanted, name


def _whole(cell: str | None) -> int | None:
    return None if cell is None else raw(cell, Type.INTEGER)  # type: ignore[return-value]


def test_the_integers_of_other_people_stay(tmp_path: Path) -> None:
    """Through the engine: every kind of line that is accepted, in the middle of the file."""
    measured = (("n", RowCount(2)), ("v", Total(Column("v"), Fraction(0), Fraction(9))), ("u", Units()))
    plan = GroupAgg(scan(BOOK), (KeyColumn("who", Column("who")),), Bounding(groups=1), measured)
    wanted = {who: [1, who % 10, 1] for who in range(12)}
    for odd in sorted(set(ODD) - REFUSED):
        engine = connect(_written(tmp_path / "t.csv", [*PLAIN[:6], ODD[odd], *PLAIN[6:]], b","), BOOK, key=KEY)
        result = as_values(engine.run(plan))
        engine.close()
        found = zip(result["keys"]["who"], result["n"], result["v"], result["u"], strict=True)
        assert {who: counts for who, *counts in found if who != 77} == wanted, odd


def _rows_of(data: bytes, *, quotes: bool = True) -> list[tuple[str | None, ...]]:
    """All rows of bytes after a header of two columns, by the scanner and the splitter alone."""
    known = Header(("a", "b"), Dialect(ord(","), quotes), 0, 1)
    found: list[tuple[str | None, ...]] = []
    for part in store._scans(BytesIO(data), known):
        found += _texts(taken(part, width=2, chosen=[0, 1]))
    assert all(len(row) == 2 for row in found)
    return found


def _pieces(longest: int) -> Iterator[bytes]:
    for length in range(longest + 1):
        yield from (bytes(piece) for piece in itertools.product(b'a,"\n\r', repeat=length))


def test_every_short_line_in_every_place_changes_its_own_rows_only() -> None:
    """All strings of five characters over quotes, separators and line ends, among rows that are quoted and not."""
    others = [b'1,"x,y"\n', b'2,"a ""b"""\n', b'3,"p\nq"\n', b"4,z\n"]
    wanted = Counter(_rows_of(b"".join(others)))
    accepted = 0
    for piece in _pieces(5):
        for place in (0, 2, 4):
            data = b"".join([*others[:place], piece + b"\n", *others[place:]])
            try:
                found = Counter(_rows_of(data))
            except InvalidArgument:
                continue
            accepted += 1
            assert wanted <= found, (piece, place)
    assert accepted > 3000


def test_without_quotes_every_line_is_a_row() -> None:
    for piece in _pieces(4):
        lines = [line.removesuffix(b"\r") for line in piece.split(b"\n")]
        assert len(_rows_of(piece + b"\n", quotes=False)) == sum(line != b"" for line in lines), piece


def test_rows_do_not_depend_on_where_the_file_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b'1,"x\ny"\r\n"a ""b""",2\n\n3\n4,5,6\n"",\xff\n"l\r\nm","n"\r'
    wanted = Counter(_rows_of(data))
    assert sum(wanted.values()) == 6
    for size in range(1, len(data) + 2):
        monkeypatch.setattr(store, "CHUNK", size)
        assert Counter(_rows_of(data)) == wanted, size
        with pytest.raises(InvalidArgument, match=r"^line 2: "):
            _rows_of(b'"' + data)


def test_plain_and_careful_rows_are_read_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b'a,b\n"c","d, e"\n,\n"",""\n\xc3\xa9,\xe2\x82\xac\r\n'
    wanted = Counter(_rows_of(data))
    monkeypatch.setattr(rows_module, "_careful", lambda scanned, width: np.ones(len(scanned.ends), dtype=bool))
    assert Counter(_rows_of(data)) == wanted


def test_a_row_without_an_end_is_refused_before_memory_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHUNK", 8)
    monkeypatch.setattr(store, "LONGEST_ROW", 64)
    with pytest.raises(InvalidArgument, match="line 3: a quote is opened here and not closed within 64 bytes"):
        _rows_of(b'1,2\n3,"' + b"x\n" * 1000)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "must name the columns"),
        (b"\n1,2,3\n", "must name the columns"),
        (b"\xef\xbb\xbf", "must name the columns"),
        (b"who,v,\xe9t\xe9\n1,2,3\n", "its first line is not UTF-8; save the file as UTF-8"),
        ("who,v,s\n1,2,3\n".encode("utf-16"), "not UTF-8"),
        (b"who,v,s\r1,2,secret\r", "rows must end with a line feed"),
        (b"who,v,s,s\n1,2,3,4\n", "several columns named s"),
        (b"Who,v, s\n1,2,secret\n", "no column who, s; it has 'Who', ' s'"),
        (b"1,2,secret\n", "no column who, v, s; its first line names none of the codebook's columns"),
        (b"secret\n1\n", "names none of the codebook's columns"),
        (b'who,v,"s\n1,2,3\n', "never closed"),
    ],
)
def test_headers_that_say_too_little_are_refused(data: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(InvalidArgument, match=says) as refused:
        dp.Dataset(tmp_path / "t.csv", codebook=BOOK)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"who,v,s\n", 0),
        (b"who,v,s", 0),
        (b"\xef\xbb\xbfwho,v,s\r\n1,2,3", 1),
        (b'"who","v","s"\n1,2,3\n', 1),
        (b",who,v,,s,other,other\n0,1,2,x,3,4,5\n", 1),
        (b'"the ""s""",s,v,who\n0,3,2,1\n', 1),
        (b'"two\nlines",s,v,who\n0,3,2,1\n', 1),
    ],
)
def test_headers_that_are_read(data: bytes, count: int, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    assert _read(tmp_path / "t.csv", tmp_path) == [(1, 2, "3")] * count


def test_the_separator_comes_from_the_header_and_the_codebook_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"who;v;s,t\n1;2;a,b\n")
    with pytest.raises(InvalidArgument, match="no column"):
        _read(tmp_path / "t.csv", tmp_path)
    (tmp_path / "t.csv").write_bytes(b"who;v;s\n1;2;a,b,c,d\n")
    assert _read(tmp_path / "t.csv", tmp_path) == [(1, 2, "a,b,c,d")]
    with pytest.raises(InvalidArgument, match="no column"):
        _read(TextFile(tmp_path / "t.csv", separator=","), tmp_path)


@pytest.mark.parametrize("separator", ["", ",,", "é", '"', "\n", 7])
def test_a_separator_is_one_plain_character(separator: Any) -> None:
    with pytest.raises(InvalidArgument, match="separator must"):
        TextFile("t.csv", separator=separator)


def test_a_file_that_is_not_gzip_is_refused(tmp_path: Path) -> None:
    for data in (b"who,v,s\n1,2,3\n", gzip.compress(b"who,v,s\n" + bytes(range(33, 127)) * 99)[:-9]):
        (tmp_path / "t.csv.gz").write_bytes(data)
        with pytest.raises(InvalidArgument, match="cannot be unpacked"):
            _read(tmp_path / "t.csv.gz", tmp_path)


def test_several_text_files_make_one_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"who,v,s\n1,2,3\n")
    (tmp_path / "b.tsv").write_bytes(b"s\tv\twho\n6\t5\t4\n")
    assert sorted(_read([tmp_path / "a.csv", str(tmp_path / "b.tsv")], tmp_path)) == [(1, 2, "3"), (4, 5, "6")]


def test_rows_are_those_of_the_moment_of_opening(tmp_path: Path) -> None:
    """The copy lies in a folder only this user can read, and goes with the data set."""
    path = _written(tmp_path / "t.csv", PLAIN, b",")
    engine: Any = connect(path, BOOK, key=KEY)
    plan = GroupAgg(scan(BOOK), (), Bounding(groups=1), (("n", RowCount(2)),))
    path.write_bytes(b"other,columns\n1,2\n")
    assert as_values(engine.run(plan))["n"] == [12]
    path.unlink()
    assert as_values(engine.run(plan))["n"] == [12]
    folder = engine._folder.path
    assert folder.stat().st_mode & 0o077 == 0
    kept = list(folder.rglob("*.parquet"))
    assert len(kept) == 1
    assert not list(folder.rglob("lines"))
    engine.close()
    assert not folder.exists()


def test_a_refused_file_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(InvalidArgument, match="line 3: "):
        connect(_written(tmp_path / "t.csv", [*PLAIN[:1], b'1|2|"', *PLAIN[1:]], b","), BOOK, key=KEY)
    assert not list((tmp_path / "scratch").iterdir())


def test_a_draft_names_the_columns_the_data_set_finds(tmp_path: Path) -> None:
    from deniable.release.draft import column_types

    for name, data in {
        "a.csv": b"\xef\xbb\xbfk,v\n1,2\n", "b.tsv": b"k\tv\n", "c.csv": b"k;v\n", "d.csv.gz": gzip.compress(b"k|v\n"),
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
        assert list(column_types(tmp_path / name)) == ["k", "v"]
        assert header(TextFile(tmp_path / name), ["k", "v"]).names == ("k", "v")
    (tmp_path / "e.csv").write_bytes(b"k,\xe9\n")
    with pytest.raises(InvalidArgument, match="UTF-8"):
        column_types(tmp_path / "e.csv")
