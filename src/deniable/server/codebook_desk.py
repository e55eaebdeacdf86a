"""The codebook of a served data set: which one is in force, what a curator may change through the server, and in which words.

A curator at the server holds no data and may be a process that was taken over, so less may be proposed here than
`deniable ledger amend` records: who is protected, which tables are public, how tables hang together and what a column is stay
as they are. What may change is how much counts: bounds, grids, categories, bounds on a unit's rows, and words.

Guarantee: no amendment made here shows a row, changes whose privacy is counted, or gives anything back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from deniable.errors import DeniableError, InvalidArgument, LedgerError, NotGranted
from deniable.exact.figures import counted
from deniable.ledger import Ledger, ProposedCodebook, Terms, fingerprint
from deniable.ledger.replay import Clock
from deniable.plan.codebook import Codebook
from deniable.plan.unit import Unit
from deniable.release.dataset import Dataset, amend, unit_text
from deniable.server.settings import ServedData

Opened = TypeVar("Opened", bound=Ledger)

NOT_OPENED = "the data cannot be opened under this codebook; its curator can look with `deniable data check`"
"""Why a proposal that does not fit the data is rejected; the same words whatever the data."""

NOT_READ = "this text could not be read as a codebook"
"""Why a proposal that no curator's page would have written is rejected."""

_FIXED = ("unit", "period", "links", "public")
"""What stays of a table."""


def ledger_terms(data: ServedData) -> Terms:
    """The terms of a served data set: its codebook and budget, and a grant for every charge."""
    assert data.codebook.unit is not None
    return Terms(
        dataset=data.name,
        unit=unit_text(data.codebook.unit),
        budget=data.budget,
        codebook=fingerprint(data.codebook.identity()),
        grants=True,
    )


def open_ledger(kind: type[Opened], place: str, data: ServedData, *, clock: Clock | None = None) -> Opened:
    """The ledger at this place, made if there is none, under the settings' terms with the codebook that is in force."""
    with suppress(LedgerError):  # there is none yet, or its terms are others: opening it says which
        data = in_force(kind.existing(place, clock=clock), data)
    return kind.open(place, terms=ledger_terms(data), clock=clock)


def in_force(ledger: Ledger, data: ServedData) -> ServedData:
    """This data set with the codebook that the ledger counts under: the file's, or one that was proposed and taken up."""
    found = codebook_with(ledger, data, ledger.terms.codebook)
    if found is None:
        raise LedgerError(f"the codebook of {data.name} was amended elsewhere; start the server again with that one")
    return replace(data, codebook=found)


def codebook_with(ledger: Ledger, data: ServedData, print: str) -> Codebook | None:
    """The codebook with this fingerprint, if it is the settings' or was taken up at the desk."""
    if fingerprint(data.codebook.identity()) == print:
        return data.codebook
    taken = (each for each in ledger.desk.proposals() if each.state == "amended" and each.body["codebook"] == print)
    return next((Codebook.from_yaml(each.body["text"]) for each in taken), None)


def codebook_then(ledger: Ledger, data: ServedData, count: int) -> Codebook:
    """The codebook that was in force when event `count` was written, as far as the chain tells."""
    taken = [each for each in ledger.desk.proposals() if each.answer is not None and each.state == "amended"]
    later = next((each for each in taken if each.answer is not None and each.answer.count > count), None)
    return (None if later is None else codebook_with(ledger, data, later.body["base"])) or data.codebook


@dataclass(frozen=True, slots=True)
class CodebookDraft:
    """A codebook that may be proposed, with what it changes."""

    codebook: Codebook
    text: str
    changes: tuple[str, ...]

    @property
    def print(self) -> str:
        """The fingerprint of what it says."""
        return fingerprint(self.codebook.identity())


def drafted(old: Codebook, text: str) -> CodebookDraft:
    """The codebook in this text, if it changes only what may change; a mistake is refused with its line."""
    new = Codebook.from_yaml(text, source="codebook")
    _check_unit(old, new)
    _check_tables(old.to_record()["tables"], new.to_record()["tables"])
    changes = tuple(_changes(old, new))
    if not changes:
        raise InvalidArgument("this codebook says the same as the one in force; change something before you propose it")
    return CodebookDraft(new, text, changes)


def _check_unit(old: Codebook, new: Codebook) -> None:
    if new.unit is None or old.unit is None or _who(old.unit) != _who(new.unit):
        raise InvalidArgument(
            f"unit: who is protected stays {old.unit}; another unit needs a ledger of its own, made by the owner"
        )


def _who(unit: Unit) -> Unit:
    return replace(unit, groups=None, rows=None, total=None)


def _check_tables(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    if list(old) != list(new):
        raise InvalidArgument(f"tables: they stay {', '.join(old)}, in this order; got {', '.join(new)}")
    for name, table in old.items():
        for field in _FIXED:
            if table.get(field) != new[name].get(field):
                raise InvalidArgument(
                    f"tables.{name}.{field}: it cannot be changed here; the owner can, beside the data"
                )
        _check_variables(name, table["variables"], new[name]["variables"], public=bool(table.get("public")))


def _check_variables(table: str, old: Mapping[str, Any], new: Mapping[str, Any], *, public: bool) -> None:
    for name in old:
        if name not in new:
            raise InvalidArgument(f"{table}.{name}: a variable stays; released answers are about it")
        if old[name]["type"] != new[name]["type"]:
            raise InvalidArgument(f"{table}.{name}.type: it stays {old[name]['type']}, got {new[name]['type']}")
    for name, facts in new.items():
        if public and name not in old:
            raise InvalidArgument(f"{table}.{name}: what a public table shows is the owner's to say, beside the data")
        bounds = facts.get("bounds")
        if bounds is not None and bounds != old.get(name, {}).get("bounds") and not facts.get("provenance"):
            raise InvalidArgument(f"{table}.{name}: say with provenance: where the bounds {_plain(bounds)} come from")


def _changes(old: Codebook, new: Codebook) -> Iterator[str]:
    """What differs, a line for each fact."""
    before, after = dict(_facts(old.to_record())), dict(_facts(new.to_record()))
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            yield f"{name}: {_plain(before.get(name))} becomes {_plain(after.get(name))}"


def _facts(record: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _facts(value, f"{path}{name}.")
        else:
            yield f"{path}{name}".removeprefix("tables.").replace(".variables.", "."), value


def _plain(value: Any) -> str:
    if value is None:
        return "not stated"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def unit_sentence(unit: Unit | None) -> str:
    """Who is protected and how much of one of them counts, as a sentence."""
    if unit is None:
        return "Nobody is protected yet."
    if unit.is_row:
        return f"Protected is {unit}: nobody can tell from answers whether it was there{_changed(unit)}."
    groups = (
        "as many groups as a question states" if unit.groups is None else f"at most {counted(unit.groups, 'group')}"
    )
    rows = "as many rows as it states in each" if unit.rows is None else f"at most {counted(unit.rows, 'row')} in each"
    total = "" if unit.total is None else f", and at most {counted(unit.total, 'row')} in all"
    trust = f" That every {unit.label} has one row is taken on the curator's word." if unit.unique else ""
    return (
        f"Protected is {unit.phrase}: all rows with the same {unit.id} together. In one question {groups} "
        f"and {rows} count{total}; what is beyond is left out.{trust}"
    )


def _changed(unit: Unit) -> str:
    return " or what it said" if str(unit) == "one changed row" else ""


def bounds_table(codebook: Codebook) -> list[dict[str, str]]:
    """Every bound with where it comes from; one without a source says so."""
    return [
        {
            "variable": f"{table.name}.{variable.name}",
            "bounds": f"{variable.lower} to {variable.upper}",
            "provenance": variable.provenance or "not stated",
        }
        for table in codebook.tables
        for variable in table.variables
        if variable.lower is not None
    ]


def take_up(ledger: Ledger, data: ServedData, proposal: ProposedCodebook, *, by: str) -> None:
    """Amend the ledger as proposed, where the data opens under it; else one line in the chain says why not.

    Everything is checked again here: the proposal came from a process that holds no data and is not believed.
    """
    try:
        current = in_force(ledger, data)
        draft = drafted(current.codebook, proposal.body["text"])
        if draft.print != proposal.body["codebook"]:
            raise InvalidArgument("the text and the fingerprint of this proposal are not of one codebook")
        _open_once(replace(current, codebook=draft.codebook))
        said = {"reason": proposal.body["reason"], "by": proposal.body["by"]}
        amend(data.ledger, draft.codebook, proposal=proposal.count, **said)
    except (InvalidArgument, NotGranted) as refused:
        ledger.desk.reject(proposal.count, by=by, reason=one_line(str(refused)))
    except LedgerError:
        raise
    except Exception:  # whatever a text from a process that is not believed may do, the worker goes on
        ledger.desk.reject(proposal.count, by=by, reason=NOT_READ)


def _open_once(data: ServedData) -> None:
    try:
        Dataset(data.source, codebook=data.codebook, name=data.name).close()
    except DeniableError:
        raise InvalidArgument(NOT_OPENED) from None


def one_line(text: str) -> str:
    """A refusal as the chain can hold it: printable, on one line, not endless."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:190].strip()
