"""Changing the terms of a ledger that has been used: everything charged so far is carried over, nothing is forgotten.

The new caps read the recorded costs afresh, so a budget may even move to another measure. Costs hold for the unit they
were priced in: when the unit changes, the curator says what an old cost means in the new one, or the change is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from deniable.accounting import Tally
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.ledger.caps import Cap, Slot
from deniable.ledger.costs_json import cost_record
from deniable.ledger.state import Charge, State, tally_record
from deniable.ledger.terms import Terms

Restate = Callable[[Cost], Cost]
"""What a cost in the old unit is in the new one: `lambda cost: cost.group(2)` when one new unit is two old ones."""


def amended(state: State, old: Terms, new: Terms, *, restate: Restate | None) -> dict[str, Any]:
    """The body of the event: the new terms, the costs restated in new units, and every sum carried over."""
    restated = {
        (charge.count, unit): _restated(charge, old, unit, restate)
        for charge in state.charges.values()
        for unit in new.units
        if unit not in charge.costs
    }
    sums: dict[Slot, Tally] = {}
    for charge, account, moment, caps in _payments(state, new):
        for cap in caps:
            unit = cap.unit or new.unit
            tally = cap.filters.read(restated.get((charge.count, unit)) or charge.costs[unit])
            slot = cap.slot(account, moment)
            for each in {slot: None, slot.lifetime: None}:
                sums[each] = tally if each not in sums else sums[each] + tally
    return {
        "terms": new.to_record(),
        "restated": [[count, unit, cost_record(cost)] for (count, unit), cost in restated.items()],
        "balances": [
            {"cap": slot.cap, "account": slot.account, "period": slot.period, **tally_record(tally)}
            for slot, tally in sums.items()
        ],
    }


def _restated(charge: Charge, old: Terms, unit: str, restate: Restate | None) -> Cost:
    if restate is None:
        raise InvalidArgument(
            f"event {charge.count} was not priced in unit {unit!r}; give restate=, the cost in it of a cost in {old.unit!r}"
        )
    return restate(charge.costs[old.unit])


def _payments(state: State, terms: Terms) -> Iterator[tuple[Charge, str, datetime, list[Cap]]]:
    """Who paid for what, when, and under which of the new caps."""
    for charge in state.charges.values():
        account, moment = charge.body["account"], datetime.fromisoformat(charge.body["at"])
        yield charge, account, moment, [cap for cap in terms.all_caps if cap.covers(account)]
    for (account, number), at in state.shared.items():
        own = [cap for cap in terms.all_caps if cap.analyst is not None and cap.covers(account)]
        yield state.charges[number], account, datetime.fromisoformat(at), own
