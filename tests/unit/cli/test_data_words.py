"""Files in words of the shell: one, several, a pattern, or one for each table."""

from __future__ import annotations

import gzip

import pytest

from deniable import cli
from deniable.cli.data_words import sources
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook

ONE = "name: v\nunit: {id: p, groups: 1, rows_per_group: 1}\ntable: v\nvariables: {p: integer}\n"
TWO = """
name: both
unit: {id: p, groups: 1, rows_per_group: 1}
tables:
  visits: {variables: {p: integer, ward: {type: string, categories: [A, B]}}}
  people: {variables: {p: integer, sex: {type: string, categories: [f, m]}}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "2023.csv").write_text("p\n1\n2\n")
    (tmp_path / "2024.tsv.gz").write_bytes(gzip.compress(b"p\tw\n3\tx\n"))
    (tmp_path / "visits.csv").write_text("p,ward\n" + "".join(f"{i},A\n" for i in range(60)))
    (tmp_path / "people.csv").write_text("p,sex\n" + "".join(f"{i},{'fm'[i % 2]}\n" for i in range(60)))
    (tmp_path / "both.yaml").write_text(TWO)
    (tmp_path / "v.yaml").write_text(ONE)
    return tmp_path


@pytest.mark.parametrize(
    ("word", "book", "wanted"),
    [
        ("2023.csv", ONE, "2023.csv"),
        ("2023.csv,2024.tsv.gz", ONE, ["2023.csv", "2024.tsv.gz"]),
        ("202*", ONE, ["2023.csv", "2024.tsv.gz"]),
        ("visits.csv,people.csv", TWO, {"visits": ["visits.csv"], "people": ["people.csv"]}),
        ("people=people.csv, visits=visits.csv", TWO, {"people": ["people.csv"], "visits": ["visits.csv"]}),
        ("postgresql://host/db", TWO, "postgresql://host/db"),
        ("nowhere.csv", ONE, "nowhere.csv"),
    ],
)
def test_words_and_what_they_stand_for(folder, word, book, wanted):
    assert sources(word, Codebook.from_yaml(book)) == wanted


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("*.parquet", "no file is called like"),
        ("visits.csv", "no file is given for table people: visits=visits.csv,people=people.csv"),
        ("visits=visits.csv", "no file is given for table people: visits=visits.csv,people=people.csv"),
        ("visits=visits.csv,people.csv", "name every file or none"),
        ("2023.csv,people.csv", "no table '2023'; name each file after its table"),
    ],
)
def test_what_does_not_fit_is_one_line(folder, word, says):
    book = Codebook.from_yaml(TWO)
    with pytest.raises(InvalidArgument, match=says):
        sources(word, book)


def test_two_files_are_joined_from_the_shell(folder, capsys):
    text = "SELECT sex, COUNT(*) AS n FROM visits JOIN people USING (p) GROUP BY sex"
    words = ["--codebook", "both.yaml", "--ledger", "l", "--budget-epsilon", "50", "--epsilon", "40"]
    cli.main(["sql", "visits.csv,people.csv", text, *words])
    assert "30 ± 0" in capsys.readouterr().out


def test_several_files_are_one_table(folder, capsys):
    words = ["--codebook", "v.yaml", "--ledger", "l", "--budget-epsilon", "50", "--epsilon", "40", "--agg", "n=count()"]
    cli.main(["query", "202*", *words])
    assert "3 ± 0" in capsys.readouterr().out
