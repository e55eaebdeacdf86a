"""Synthesizers of a session: priced from public facts, charged once, measured, stored; what comes back is a twin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable.accounting import RuleKind
from deniable.cost import Bounded, composed
from deniable.errors import InvalidArgument
from deniable.exact import loss_text
from deniable.exact.guards import Real, positive
from deniable.query import Payment
from deniable.release.digest import value_digest
from deniable.release.purchase import Purchase
from deniable.release.statement import value_statement
from deniable.release.twin import Twin, twin_packed
from deniable.synth.network_synthesis import NETWORKS, network_note
from deniable.synth.resources import check_noise
from deniable.synth.synthesis import GAUSSIAN, Synthesis, allowance_of

if TYPE_CHECKING:
    from deniable.release.session_mechanisms import MechanismSession


@dataclass(frozen=True, slots=True)
class SynthesisPrice:
    """What a synthesizer would cost and measure. Nothing was spent or looked at."""

    epsilon: Fraction | None
    delta: Fraction
    method: str
    plan: dict[str, Any]

    def to_record(self) -> dict[str, Any]:
        """As JSON."""
        epsilon = None if self.epsilon is None else float(self.epsilon)
        return {"epsilon": epsilon, "delta": float(self.delta), "method": self.method, "plan": self.plan}

    def __str__(self) -> str:
        price = "as offered in rho" if self.epsilon is None else loss_text("epsilon", self.epsilon, self.delta)
        lines = [f"{name}: {_plain(value)}" for name, value in self.plan.items()]
        return "\n".join([f"{price}, method {self.method}", *lines])

    __repr__ = __str__


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


@dataclass(frozen=True, slots=True, eq=False)
class Synthesizer:
    """A plan for synthetic data of one table. Made by `session.synthesizer(...)`; `price` is free, `release` is charged once."""

    session: MechanismSession
    synthesis: Synthesis

    def price(
        self,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        anyway: bool = False,
    ) -> SynthesisPrice:
        """What it would cost and measure; refused where it cannot work."""
        bought, plan = self._bought(epsilon, rho, delta, anyway)
        return SynthesisPrice(bought.epsilon, bought.delta, self.synthesis.method, plan)

    def release(
        self,
        *,
        epsilon: Real | None = None,
        rho: Real | None = None,
        delta: Real | None = None,
        anyway: bool = False,
        request: str | None = None,
    ) -> Twin:
        """Measure under one durable charge, store, and only then show. The same plan at the same price is the same twin, for free.

        Guarantee: everything that is measured, however it was chosen, costs what was charged before data was read.
        """
        bought, _ = self._bought(epsilon, rho, delta, anyway)
        promise, facts = value_statement(self.session, bought, None)
        facts = replace(
            facts,
            scope=f"synthetic rows of {', '.join(self.synthesis.attributes.names)} from {self.session.name}",
            mechanisms=(self.synthesis.mechanisms,),
            preprocessing=tuple(filter(None, (self.synthesis.bounded, "values put into public cells"))),
            postprocessing=(
                "tables made to agree and non-negative",
                "a model fitted to them",
                "rows drawn from the model",
            ),
        )
        kept = bought.mechanism.post(lambda measured: twin_packed(measured, promise, facts))
        packed, receipt = self.session._released(
            kept,
            bought.charge,
            request=request,
            plan=value_digest(bought, Payment()),
            question=facts.scope,
            tables=self.synthesis.tables,
        )
        self.session._last = self.session.filters.read(bought.charge)
        return Twin.from_packed(packed, receipt)

    def _bought(
        self, epsilon: Real | None, rho: Real | None, delta: Real | None, anyway: bool
    ) -> tuple[Purchase, dict[str, Any]]:
        payment = Payment.read(epsilon=epsilon, rho=rho, delta=delta)
        leak = self.session._delta(payment.delta)
        if epsilon is None and rho is None:
            raise InvalidArgument("say what to pay: epsilon= or rho=")
        in_rho = rho is not None or self.session.filters.unit == "rho"
        if self.synthesis.method in GAUSSIAN and not leak > 0 and not in_rho:
            raise InvalidArgument(
                f"method {self.synthesis.method!r} adds Gaussian noise and needs a delta; open the session with one, "
                "pass delta=, or take method='mwem' or 'privbayes'"
            )
        if self.synthesis.opened and not (leak > 0 and epsilon is not None):
            raise InvalidArgument(
                "open= shows values of the data above a threshold and needs epsilon= and a delta; open the session with one, pass "
                "delta=, or declare the categories"
            )
        hidden = self.synthesis.leak(leak)
        kind = RuleKind.CONCENTRATED if in_rho and self.synthesis.method not in GAUSSIAN else self.synthesis.kind(leak)
        if hidden:
            payment = Payment.read(epsilon=epsilon, delta=leak - hidden)
        bought = self._opened(self.session._bought(self.synthesis.family(kind), payment), kind, hidden)
        plan = self.synthesis.forecast(allowance_of(kind, bought.mechanism.parameter, hidden))
        noises = plan.get("noise of one-way tables") or {"a table": plan["noise of a table"]}
        check_noise(max(noises.values()), anyway=anyway)
        return bought, plan

    def _opened(self, bought: Purchase, kind: RuleKind, hidden: Fraction) -> Purchase:
        """What was bought, and beside its noise what the thresholds of open columns may leak."""
        if not hidden:
            return bought
        scale, leak = bought.mechanism.parameter, Bounded(epsilon=0, delta=hidden)
        whole = replace(self.synthesis.at(kind, positive(scale=scale), hidden), parameter=scale)
        return replace(
            bought,
            mechanism=whole,
            cost=whole.cost(d_in=1),
            charge=composed([bought.charge, leak]),
            delta=bought.delta + hidden,
        )

    def __repr__(self) -> str:
        chosen = self.synthesis
        said = f"\n{network_note(chosen.method)}" if chosen.method in NETWORKS else ""
        return f"Synthesizer({chosen.method!r}, {', '.join(chosen.attributes.names)}){said}"
