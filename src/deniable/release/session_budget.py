"""What every session stands on: one data set, one ledger, and the one way to an answer.

Guarantee: `_released` charges durably before data is touched; what goes wrong afterwards becomes one constant text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, Self, TypeVar

from deniable.accounting import Filters, Implications, Rule, Spend, Tally, implications
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.cost import Cost
from deniable.engines.engine import Engine, Looking
from deniable.engines.table_space import PrivateTables, table_space
from deniable.errors import EngineFailed, InvalidArgument, Retired
from deniable.exact import loss_text, weak_promise
from deniable.exact.guards import Real
from deniable.ledger import History, Ledger, history
from deniable.ledger.receipt import Receipt
from deniable.ledger.store import Packed, pack, unpacked
from deniable.noise import Entropy, system_entropy
from deniable.plan.codebook import Codebook
from deniable.plan.html_card import html_card, html_lines, html_pairs
from deniable.plan.unit import Unit


@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left, and how many more queries like the last one that is enough for (None before the first)."""

    spend: Spend
    unit: str
    more_like_the_last: int | None

    @property
    def epsilon(self) -> Fraction:
        """The epsilon that is left, exactly."""
        return self._loss("epsilon")

    @property
    def rho(self) -> Fraction:
        """The rho that is left, exactly."""
        return self._loss("rho")

    @property
    def delta(self) -> Fraction:
        """The delta that is left, exactly."""
        return Fraction(self.spend.delta)

    def _loss(self, unit: str) -> Fraction:
        if self.unit != unit:
            raise InvalidArgument(f"this budget is kept in {self.unit}, not in {unit}: read remaining.{self.unit}")
        return Fraction(self.spend.loss)

    def __str__(self) -> str:
        return loss_text(self.unit, self.spend.loss, self.spend.delta, downwards=True) + self._again

    @property
    def _again(self) -> str:
        match self.more_like_the_last:
            case None:
                return ""
            case 0:
                return "; not enough for another like the last one"
            case several:
                return f"; enough for {several} more like the last one"

    __repr__ = __str__


Made = TypeVar("Made")

DELTA_SHARE = Fraction(1, 20)
"""A query that needs a delta and names none gets this share of what the session keeps for leaks and pairs, or what is left."""


class BudgetedSession:
    """Data that answers only after a charge; made by `Dataset.session`."""

    def __init__(
        self,
        *,
        engine: Engine,
        codebook: Codebook,
        ledger: Ledger,
        name: str,
        account: str,
        entropy: Entropy | None,
        kept: bool = True,
    ) -> None:
        self._engine, self.codebook, self._ledger = engine, codebook, ledger
        self._data, self._data_space = PrivateTables(engine, codebook), table_space(codebook)
        self.name, self.account = name, account
        self._entropy = entropy
        self._last: Tally | None = None
        self._retired = self._closed = False
        self._kept = kept

    @property
    def space(self) -> Space:
        """The space of this session's tables: what the codebook allows, with the distance of its unit."""
        return self._data_space

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        assert self.codebook.unit is not None
        return self.codebook.unit

    @property
    def rehearsal(self) -> bool:
        """Whether the noise is a test's, so that answers carry no guarantee."""
        return self._entropy is not None and self._entropy.is_testing

    @property
    def engine(self) -> str:
        """The engine's name and version."""
        return self._engine.name

    @property
    def rule(self) -> Rule:
        """How the budget is counted, and by which theorem: of several rules the one that leaves most."""
        return self._ledger.balances()[0].rule

    @property
    def filters(self) -> Filters:
        """Every rule that counts; a query is answered while one that has allowed all of them so far allows it."""
        return self._ledger.terms.main.filters

    @property
    def ledger(self) -> Ledger:
        """The durable budget behind this session: its balances, charges and events."""
        return self._ledger

    @property
    def history(self) -> History:
        """Every charge so far: when, who, what was asked and its price, from the ledger alone."""
        return history(self._ledger)

    @property
    def spent(self) -> Spend:
        """What has been spent over the ledger's lifetime; of an (epsilon, delta) budget what it has less than at first."""
        return self._ledger.spent

    @property
    def remaining(self) -> Remaining:
        """What is left, and how many more queries like the last one fit.

        Of an (epsilon, delta) budget, which several rules keep side by side, it is the largest epsilon one more query may cost.
        """
        balance = self._ledger.balances()[0]
        more = None if self._last is None else self.filters.more(self._last, balance.tally)
        left = balance.left
        return Remaining(left, left.unit or balance.rule.unit, more)

    def implied(
        self, *, coarser: Mapping[str, int] | None = None, finer: Iterable[str] = (), delta: Real | None = None
    ) -> Implications:
        """What this session's budget says about units other than its own: coarser={"household": 4}, finer=["test"].

        Guarantee: holds for everything the ledger ever releases (in one period, if its budget starts afresh). A coarser unit is
        at most so many units, a finer one a part of one unit. Rho budgets with a delta need the `delta` at which to read them.
        """
        promise = self._ledger.terms.budget
        return implications(promise, unit=self.unit.phrase, coarser=coarser or {}, finer=finer, delta=delta)

    def _delta(self, delta: Fraction | None) -> Fraction:
        if delta is not None:
            if delta and self.filters.unit == "epsilon" and not self.filters.pool:
                raise InvalidArgument(
                    "this budget has no delta to pay with; ask without delta=, or open one that has it"
                )
            return delta
        return min(self.filters.pool * DELTA_SHARE, self.filters.pool_left(self._ledger.balances()[0].tally))

    def _look(self) -> None:
        """Before a charge: what is public about the data may refuse, so that nothing is spent in vain."""
        if isinstance(self._engine, Looking):
            self._engine.look()

    def _check_open(self) -> None:
        if self._closed:
            raise Retired("this session is closed; open a new one with dataset.session(...)")
        if self._retired:
            raise Retired("this session met an engine failure; ask the curator, then open a new session")

    def _guarded(self, run: Callable[[], Made]) -> Made:
        """What `run` makes of the data. Whatever goes wrong may quote it: one constant text, and the session retires."""
        try:
            return run()
        except EngineFailed:
            self._retired = True
            raise
        except KeyboardInterrupt:
            raise KeyboardInterrupt("interrupted; it stays charged") from None
        except Exception:
            self._retired = True
            raise EngineFailed from None

    def _released(
        self,
        mechanism: Mechanism,
        charge: Cost,
        *,
        request: str | None,
        plan: str,
        question: str,
        tables: Sequence[str] = (),
    ) -> tuple[Packed, Receipt]:
        """Charge durably, run, draw, store, and only then show: everything a session releases comes through here.

        `mechanism` answers with a packed release. Whatever goes wrong while it runs may quote the data: it becomes one
        constant text, the charge stands and the session retires.
        """
        self._check_open()
        made: dict[bytes, Packed] = {}  # what was stored need not be parsed again if it is this

        def run() -> bytes:
            def answer() -> tuple[Packed, bytes]:
                packed = mechanism.function(self._data, self._entropy or system_entropy())
                return packed, pack(packed)

            packed, payload = self._guarded(answer)
            made[payload] = packed
            return payload

        released = self._ledger.answer(
            charge,
            run,
            request=request,
            plan=plan,
            account=self.account,
            look=self._look,
            tables=tables,
            question=question,
        )
        return made.get(released.payload) or unpacked(released.payload), released.receipt

    def __repr__(self) -> str:
        kept = "" if self._kept else "; not kept: without a ledger this budget ends with the process"
        promise = self._ledger.terms.budget
        weak = "".join(f" {line}" for line in weak_promise(promise.epsilon, promise.delta))
        return f"Session({self.name!r}, {self.remaining}{kept}){weak}"

    def _repr_html_(self) -> str:
        pairs = [("data set", self.name), ("protects", self.unit.phrase), ("spent", str(self.spent))]
        pairs += [("left", str(self.remaining)), ("engine", self.engine)]
        kept = [] if self._kept else ["Not kept: without a ledger this budget ends with the process."]
        return html_card(html_pairs(pairs), html_lines(kept))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End this session: it answers no more questions. Data set and ledger stay as they are."""
        self._closed = True

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Session holds private data and a budget: it cannot be copied or pickled")
