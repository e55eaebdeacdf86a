"""A private data set: where the rows are, and the codebook that says everything public about them.

It shows its schema and nothing else. Rows are reached only through a session, which charges first.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, NoReturn

from deniable import accounting
from deniable.cost import Cost
from deniable.engines.engine import Engine, Filed
from deniable.engines.places import is_postgres, is_spark
from deniable.engines.text.file import TextFile
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, shown
from deniable.noise import Entropy, system_entropy
from deniable.plan.codebook import Codebook
from deniable.plan.unit import MOST_JOINED, Unit

if TYPE_CHECKING:
    from deniable.accounting import Budget
    from deniable.ledger import Anchor, Cap, Ledger, Period, Terms
    from deniable.query import Query
    from deniable.release.answer import Release
    from deniable.release.bounds_view import BoundsView
    from deniable.release.data_check import DataCheck
    from deniable.release.session import Session


class Dataset:
    """Private tables behind a codebook.

    `source` is a Parquet file, a text file (CSV and its kin, see `TextFile`), a pandas, Polars or Arrow table, a mapping of
    columns, a mapping of several tables by name, the `postgresql://` URL of a database, a Spark session or Spark DataFrames,
    or an engine that is connected already. `tables` says where a database or a Spark session keeps them, if not under the
    codebook's names. `codebook` is a YAML file, a mapping, or a `Codebook`; `unit` may be given here if the codebook has none.
    `time_limit` is how many seconds a statement may take, an hour if not given. It is public, and a stop for accidents:
    what reaches it stays charged and closes the session, and that it did may tell about the data, so choose it far
    above what queries take.

    Guarantee: no cell, key, count, type or size of the data is ever shown by this object.
    """

    def __init__(
        self,
        source: Any,
        *unnamed: Never,
        codebook: str | os.PathLike[str] | Mapping[str, Any] | Codebook | None = None,
        tables: Sequence[str] | Mapping[str, str] | None = None,
        unit: Unit | None = None,
        name: str | None = None,
        time_limit: Real | None = None,
    ) -> None:
        self.codebook = _codebook(codebook, unit, unnamed)
        self.name = name or self.codebook.name or _named(source, self.codebook)
        self._source = source
        self._engine = _engine(source, self.codebook, tables, time_limit)
        self._files = self._engine.files if isinstance(self._engine, Filed) else ()

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        assert self.codebook.unit is not None
        return self.codebook.unit

    def session(
        self,
        budget: Budget | None = None,
        *,
        ledger: str | os.PathLike[str] | None = None,
        account: str = "analyst",
        period: Period | None = None,
        caps: tuple[Cap, ...] = (),
        workload: Iterable[Cost] | None = None,
        anchor: Anchor | None = None,
        entropy: Entropy | None = None,
    ) -> Session:
        """Ask under `budget`, kept in the file or PostgreSQL URL `ledger`; without one it lives only as long as this process.

        A budget of epsilon and delta is kept by several filters side by side; with a `workload`, costs such as those of
        `query.price(...)`, most of delta goes to the filter under which they fit most often. A ledger that exists keeps its own.

        Guarantee: opening an existing ledger with another budget, unit or codebook is refused.
        """
        from deniable.ledger import FolderAnchor, Ledger
        from deniable.release.session import Session

        if ledger is not None and entropy is not None and entropy.is_testing:
            raise InvalidArgument("a durable ledger refuses testing entropy: its answers would carry no guarantee")
        if not isinstance(budget, accounting.Budget):
            raise InvalidArgument(f"a session needs a budget such as dp.budget(epsilon=1, delta=1e-7), got {budget!r}")
        terms = replace(
            terms_of(self.codebook, dataset=self.name, budget=budget, period=period, caps=caps),
            rule=None if workload is None else budget.filters(workload),
        )
        folder: Path | None = None
        if ledger is None:
            folder = Path(tempfile.mkdtemp(prefix="deniable-"))
            opened = Ledger.open(folder / "session.ledger", terms=terms, anchor=FolderAnchor(folder))
        else:
            opened = Ledger.planned(ledger, terms=terms, anchor=anchor, begun=self._note)
        session = Session(
            engine=self._engine,
            codebook=self.codebook,
            ledger=opened,
            name=self.name,
            account=account,
            entropy=entropy,
            kept=folder is None,
        )
        if folder is not None:
            weakref.finalize(session, _remove, folder, os.getpid())
        return session

    def amend(
        self,
        ledger: str | os.PathLike[str],
        *,
        reason: str,
        by: str = "curator",
        budget: Budget | None = None,
        period: Period | None = None,
        caps: tuple[Cap, ...] | None = None,
        anchor: Anchor | None = None,
    ) -> None:
        """Record that the ledger now counts under this data set's codebook, and under another budget, period or caps if given.

        Everything charged so far is carried over, and open sessions must be opened again. An act of the curator.

        Guarantee: nothing is forgotten or given back; a changed unit is refused, for old costs are about the old one, and so is
        another column or link that says whose the rows of a table are. How many groups and rows of a unit count may change: a
        cost is about all that one unit has, whatever part of it counted.
        """
        amend(ledger, self.codebook, reason=reason, by=by, budget=budget, period=period, caps=caps, anchor=anchor)

    def new_version(
        self, ledger: str | os.PathLike[str], *, reason: str, by: str = "curator", anchor: Anchor | None = None
    ) -> int:
        """Record that the data is another from now on, such as the next year's, and return the number of its version.

        Answers about the old data are fetched by their request, but not shown for questions asked anew. An act of the curator.

        Guarantee: nothing is given back; the same people may be in both, and what is charged for them adds up.
        """
        from deniable.ledger import Ledger

        return Ledger.existing(ledger, anchor=anchor).new_version(reason=reason, by=by)

    def _note(self, ledger: Ledger) -> None:
        """Tell the curator's register which files are under which ledger."""
        from deniable.release.registry import Registry

        Registry().note(
            self._files, dataset=self.name, ledger=ledger.id, place=ledger.place, version=ledger.data_version
        )

    def check(self) -> DataCheck:
        """For the curator alone: the data held against its codebook, exactly. Cells that cannot be read, clamped shares, units
        over their bounds, keys outside the categories, columns that are constant for a unit, duplicates.

        Guarantee: none. What it says is not private; it is free, stored nowhere, and no session can reach it.
        """
        from deniable.release.data_check import data_check

        if self._source is None:
            raise InvalidArgument("the data set is closed; open it again")
        if isinstance(self._source, Engine) or is_postgres(self._source) or is_spark(self._source):
            raise InvalidArgument("the check reads files, frames and columns; of a database, check an export of it")
        return data_check(self._source, self.codebook)

    def dummy(self, *, rows: int = 1000) -> Rehearsal:
        """A data set of made-up rows that fits the codebook and knows nothing else: rehearse on it for free."""
        from deniable.release.dummy import dummy_tables

        return Rehearsal(dummy_tables(self.codebook, rows), codebook=self.codebook, name=f"{self.name} (made up)")

    def close(self) -> None:
        """Let go of the data."""
        self._source = None
        self._engine.close()

    def __repr__(self) -> str:
        tables = "; ".join(
            f"{table.name}({', '.join(f'{v.name}: {v.type.value}' for v in table.variables)})"
            for table in self.codebook.tables
        )
        return f"Dataset({self.name!r}, unit: {self.unit}, {tables})"

    def describe(self) -> str:
        """What is public about the data: its codebook, as YAML."""
        return self.codebook.to_yaml()

    def head(self, rows: int = 5) -> NoReturn:
        """Refused: rows are private."""
        raise TypeError("the rows are private: ask for aggregates in a session, or use .dummy() to rehearse")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            from deniable.misnamed import no_attribute

            raise no_attribute(self, name)

    def __len__(self) -> int:
        raise TypeError("the number of rows is private: ask for it with dp.count() in a session")

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> NoReturn:
        raise TypeError("the rows are private: ask for aggregates in a session, or use .dummy() to rehearse")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Dataset holds private data: it cannot be copied or pickled")


class Rehearsal(Dataset):
    """A data set of public or made-up rows; `Dataset.dummy` makes one from a codebook alone.

    Guarantee: none for these rows: `bounds_view` shows exact facts about them. Never give it private rows.
    """

    def bounds_view(
        self,
        ask: Callable[[Session], Query[Release]],
        *,
        groups: Sequence[int] | None = None,
        rows: Sequence[int] | None = None,
        total: Sequence[int] | None = None,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real = Fraction(1, 10**6),
    ) -> BoundsView:
        """What each candidate bound would lose and what its noise would be, for a question's first count or sum.

        `ask` makes the question from a session, such as `lambda s: s.query().group_by("ward").agg(n=dp.count())`; one of
        `groups`, `rows` and `total` lists the candidates.
        """
        from deniable.query import Query
        from deniable.release.bounds_view import compare_bounds

        given = {"groups": groups, "rows": rows, "total": total}
        chosen = [(name, values) for name, values in given.items() if values is not None]
        if len(chosen) != 1:
            raise InvalidArgument("give the candidates of one bound: groups=, rows= or total=")
        name, candidates = chosen[0]
        plenty = {"epsilon": 10**6} if rho is None else {"rho": 10**6}
        session = self.session(accounting.budget(**plenty, delta=delta))
        question = ask(session) if callable(ask) else None
        if not (isinstance(question, Query) and question.runner is session):
            raise InvalidArgument(
                f"ask must make a query of the session it is given, such as lambda s: s.query(), got {shown(ask)}"
            )
        paid = {"epsilon": epsilon, "rho": rho, "delta": None if rho is not None else delta}
        return compare_bounds(question, name, candidates, run=self._engine.run, unit=self.unit, **paid)


def terms_of(
    codebook: Codebook, *, dataset: str, budget: Budget, period: Period | None = None, caps: tuple[Cap, ...] = ()
) -> Terms:
    """What a ledger counts about the data of this codebook."""
    from deniable.ledger import Terms, fingerprint

    assert codebook.unit is not None
    return Terms(
        dataset=dataset,
        unit=unit_text(codebook.unit),
        budget=budget,
        codebook=fingerprint(codebook.identity()),
        period=period,
        caps=caps,
        facts=codebook.binding(),
    )


def amend(
    place: str | os.PathLike[str],
    codebook: Codebook | None,
    *,
    reason: str,
    by: str,
    budget: Budget | None = None,
    period: Period | None = None,
    caps: tuple[Cap, ...] | None = None,
    anchor: Anchor | None = None,
    proposal: int | None = None,
) -> None:
    """Record in the ledger at this place that it counts under this codebook from now on; what is not given stays as it is.

    `proposal` is the event whose proposed codebook this is, if it was proposed at the ledger's desk.
    """
    from deniable.ledger import Ledger

    ledger = Ledger.existing(place, anchor=anchor)
    old = ledger.terms
    new = replace(
        old,
        budget=old.budget if budget is None else budget,
        rule=old.rule if budget is None else None,
        period=old.period if period is None else period,
        caps=old.caps if caps is None else caps,
    )
    if codebook is not None:
        stated = terms_of(codebook, dataset=old.dataset, budget=new.budget, period=new.period, caps=new.caps)
        new = replace(stated, rule=new.rule, grants=old.grants)
    same = _protected(old.unit) == _protected(new.unit) and not any(cap.unit for cap in new.caps)
    for name in sorted(old.facts.keys() & new.facts.keys()):
        before, after = _whose(old.facts[name]), _whose(new.facts[name])
        if before != after and ledger.charges():
            raise InvalidArgument(
                f"{name} has {before}, in this codebook {after}: its old costs are about other people; start a new ledger"
            )
    if new.unit != old.unit and not same and ledger.charges():
        raise InvalidArgument(
            f"the ledger counts {old.unit!r}, this codebook protects {new.unit!r}; start a new ledger, "
            "or say with Ledger.amend(..., restate=...) what an old cost is in the new unit"
        )
    ledger.amend(new, reason=reason, by=by, restate=(lambda cost: cost) if same else None, proposal=proposal)


def unit_text(unit: Unit) -> str:
    """The unit and its bounds, for a ledger's terms."""
    total = "" if unit.total is None else f", in all: {unit.total}"
    total += "" if unit.joined == MOST_JOINED else f", joined: {unit.joined}"
    return f"{unit}, groups: {unit.groups}, rows: {unit.rows}{total}" + (", trusted unique" if unit.unique else "")


def _whose(facts: Mapping[str, Any]) -> str:
    """What in a ledger's facts about a table says whose its rows are; nothing for those about a variable."""
    said = [f"{name}: {facts[name]}" for name in ("unit", "period", "links") if name in facts]
    return "; ".join(said) or "nobody's rows"


_BOUNDS = re.compile(
    r", groups: (\d+|None), rows: (\d+|None)(, in all: \d+)?(, joined: \d+)?(?P<trust>, trusted unique)?$"
)


def _protected(text: str) -> str:
    """A unit as `unit_text` wrote it, without how many of its groups and rows count; what is believed of it stays."""
    return _BOUNDS.sub(lambda found: found["trust"] or "", text)


def _codebook(codebook: Any, unit: Unit | None, unnamed: Sequence[object] = ()) -> Codebook:
    if unnamed:
        raise InvalidArgument("say the codebook by name: dp.Dataset(data, codebook='data.yaml')")
    if codebook is None:
        raise InvalidArgument("a data set needs a codebook (codebook='data.yaml'); `deniable codebook init` drafts one")
    if isinstance(codebook, str | os.PathLike):
        book = Codebook.load(Path(codebook))
    elif isinstance(codebook, Mapping):
        book = Codebook.from_record(codebook)
    elif isinstance(codebook, Codebook):
        book = codebook
    else:
        raise InvalidArgument(f"codebook must be a YAML file, a mapping or a Codebook, got {type(codebook).__name__}")
    book = book if unit is None else book.with_unit(unit)
    if book.unit is None:
        raise InvalidArgument(
            "nobody is protected yet: add unit: {id: ..., groups: ..., rows_per_group: ...} to the codebook, "
            "or pass unit=dp.unit('patient_id', groups=3, rows=5)"
        )
    return book


def _engine(
    source: Any, codebook: Codebook, tables: Sequence[str] | Mapping[str, str] | None, time_limit: Real | None
) -> Engine:
    """The source itself if it is an engine; else the engine that reads it, ordering units by a key drawn here."""
    if isinstance(source, Engine):
        if time_limit is not None:
            raise InvalidArgument("this engine is connected already; give it its time limit where it is made")
        return source
    from deniable.engines import connect

    return connect(source, codebook, key=system_entropy().bits(256), tables=tables, time_limit=time_limit)


def _named(source: Any, codebook: Codebook) -> str:
    """A file's name; a URL has none that could be shown, for it may hold a password."""
    source = source.path if isinstance(source, TextFile) else source
    is_file = isinstance(source, os.PathLike) or (isinstance(source, str) and not is_postgres(source))
    return Path(source).name.partition(".")[0] if is_file else codebook.tables[0].name


def _remove(folder: Path, process: int) -> None:
    """Take a temporary ledger away with its session; a forked child leaves its parent's alone."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
