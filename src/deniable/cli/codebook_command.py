"""`deniable codebook`: draft one from column names, check one, print its datasheet, or import SmartNoise metadata.

Exit codes: 0 all is well, 1 it could not be done, 2 the command was not understood.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.app import application
from deniable.cli.data_words import first_files
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.plan.datasheet import datasheet, unit_said, variable_said
from deniable.plan.smartnoise import from_smartnoise
from deniable.release.draft import drafted

app = application("Draft, check or import a codebook.")

Output = Annotated[Path | None, typer.Option(help="A new file instead of the screen.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def init(
    data: Annotated[
        str, typer.Argument(help="A Parquet or CSV file, or several (a.csv,b.csv); of 'part-*.csv' the first is read.")
    ],
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Draft a codebook from the column names; no value is looked at."""
    _written(drafted(first_files(data)), output, as_json)


@app.command()
def check(codebook: Annotated[Path, typer.Argument(help="A codebook (YAML).")], as_json: Json = False) -> None:
    """Read a codebook and say what it promises, or the line of the first mistake."""
    book = Codebook.load(codebook)
    if as_json:
        print(json.dumps(book.to_record(), indent=2))
        return
    print(f"unit: {unit_said(book.unit)}")
    for table in book.tables:
        print(f"{table.name}{' (public)' if table.public else ''}")
        for variable in table.variables:
            print(f"  {variable.name}: {variable_said(variable)}")


@app.command("datasheet")
def datasheet_command(
    codebook: Annotated[Path, typer.Argument(help="A codebook (YAML).")], output: Output = None, as_json: Json = False
) -> None:
    """A page for readers (Markdown): unit, sampling, variables, bounds and where they come from."""
    _written(datasheet(Codebook.load(codebook)), output, as_json)


@app.command("import")
def import_command(
    metadata: Annotated[Path, typer.Argument(help="SmartNoise metadata (YAML).")],
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Turn SmartNoise metadata into a codebook."""
    try:
        text = metadata.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(f"cannot read {metadata}: {error.strerror}") from None
    _written(from_smartnoise(text).to_yaml(), output, as_json)


def _written(text: str, output: Path | None, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"output": None if output is None else str(output), "text": text}, indent=2))
    elif output is None:
        print(text, end="")
    if output is None:
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InvalidArgument(f"cannot write {output}: {error.strerror}; choose a new file name") from None
