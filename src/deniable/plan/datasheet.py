"""A datasheet: what the codebook says about the data, as a page for readers. Everything on it is public."""

from __future__ import annotations

from fractions import Fraction

from deniable.exact.figures import counted
from deniable.plan.codebook import Codebook
from deniable.plan.tables import SECTIONS, Table
from deniable.plan.unit import Unit
from deniable.plan.variable import Impute, Type, Variable


def datasheet(codebook: Codebook) -> str:
    """The codebook as Markdown, in the seven sections of a datasheet; what is not stated says so.

    The codebook itself fills in the unit and the variables with their bounds, how people were sampled, and earlier releases.
    """
    lines = [f"# {_cell(codebook.name or 'Data set')}", ""]
    if codebook.description:
        lines += [_cell(codebook.description), ""]
    for name in SECTIONS:
        lines += [f"## {name.capitalize()}", "", *_section(codebook, name)]
    return "\n".join(lines).rstrip() + "\n"


def unit_said(unit: Unit | None) -> str:
    """The unit and how much one of them may add, as far as the codebook says it."""
    if unit is None:
        return "not stated"
    said = [f"{unit} ({unit.called})" if unit.called else str(unit)]
    if unit.groups and not unit.is_row:
        said.append(f"in at most {counted(unit.groups, 'group')}")
    if unit.rows and not unit.is_row:
        said.append(f"{counted(unit.rows, 'row')} in each")
    if unit.total:
        said.append(f"{counted(unit.total, 'row')} in all")
    return ", ".join(said)


def variable_said(variable: Variable) -> str:
    """What the codebook says of a column, in its own words."""
    said = [variable.type.value]
    if variable.type is Type.STRING and variable.values:
        said.append(f"one of {', '.join(variable.values)}")
    if variable.lower is not None:
        said[0] += " in [{}, {}]".format(*map(_written_out, variable.bounds))
    elif variable.type.numeric:
        said.append("without bounds")
    if variable.step is not None:
        said.append(f"step {_written_out(variable.step)}")
    if variable.of_unit:
        said.append("the same in all rows of a unit")
    return ", ".join(said if variable.facts().nullable else [*said, "never missing"])


def _written_out(end: object) -> str:
    return str(float(end)) if isinstance(end, Fraction) and end.denominator > 1 else str(end)


def _section(codebook: Codebook, name: str) -> list[str]:
    """What the curator wrote, and what the codebook knows of it by itself."""
    said = dict(codebook.sections).get(name, "")
    known = {"composition": _composition, "collection": _collection, "uses": _uses}.get(name)
    facts = known(codebook) if known else []
    return [_cell(said) if said or facts else "Not stated.", "", *facts] if said or not facts else facts


def _composition(codebook: Codebook) -> list[str]:
    lines = [f"- Protected unit: {_cell(unit_said(codebook.unit))}", ""]
    for table in codebook.tables:
        lines += _table(table)
    return lines


def _collection(codebook: Codebook) -> list[str]:
    sampling = codebook.sampling
    frame = sampling.frame if sampling and sampling.frame else "not stated"
    secrecy = sampling.secrecy if sampling and sampling.secrecy else "not stated"
    return [
        f"- Sampling: {_sampling(codebook)}",
        f"- Sample frame: {_cell(frame)}",
        f"- Secrecy of the sample: {_cell(secrecy)}",
        "",
    ]


def _uses(codebook: Codebook) -> list[str]:
    """What is already public about these people counts together with everything released from here."""
    if not codebook.earlier:
        return ["- Earlier releases about these people: none stated", ""]
    return ["- Earlier releases about these people:", *(f"  - {_cell(entry)}" for entry in codebook.earlier), ""]


def _sampling(codebook: Codebook) -> str:
    sampling = codebook.sampling
    if sampling is None:
        return "not stated"
    share = (
        ""
        if sampling.fraction is None
        else f", {float(sampling.fraction):.3g} of {sampling.population or 'the population'}"
    )
    return _cell(sampling.design + share)


def _table(table: Table) -> list[str]:
    kind = "public" if table.public else "private"
    lines = [f"### {_cell(table.name)} ({kind})", ""]
    if table.description:
        lines += [_cell(table.description), ""]
    if table.links:
        lines += [f"Links: {_cell(', '.join(map(str, table.links)))}", ""]
    lines += ["| Variable | Values | Missing | Where the bounds come from | Meaning |", "|---|---|---|---|---|"]
    return [*lines, *(_row(variable) for variable in table.variables), ""]


def _row(variable: Variable) -> str:
    missing = f"reads as {variable.missing.value}" if isinstance(variable.missing, Impute) else "stays missing"
    cells = (
        variable.name,
        variable_said(variable),
        missing,
        variable.provenance or "not stated",
        variable.description or "",
    )
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    """Text that cannot break out of its place in a Markdown page."""
    flat = " ".join(text.split())
    for mark in ("\\", "|", "<", ">", "`", "*", "_", "[", "]", "#"):
        flat = flat.replace(mark, "\\" + mark)
    return flat
