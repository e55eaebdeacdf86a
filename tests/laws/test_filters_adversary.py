"""Filters against every adversary: all strategies that choose the next loss from the answers so far, on randomised response.

A strategy is a table from what was answered to what is asked next. The filter decides whether to answer; everything the adversary
sees, refusals included, is one transcript, whose two laws (the unit says yes, or no) are computed and compared.
"""

import math
from fractions import Fraction
from itertools import product

import pytest

import deniable as dp
from deniable.core import PrivacyFilter
from deniable.errors import BudgetExceeded

LOSSES = (Fraction(1, 4), Fraction(1, 2))
HISTORIES = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
STRATEGIES = [dict(zip(HISTORIES, choice, strict=True)) for choice in product(LOSSES, repeat=len(HISTORIES))]
ORDERS = (1.5, 2.0, 4.0, 16.0)


def transcripts(strategy, budget, truth):
    """The law of what is seen: each answer is right with chance e^loss/(1 + e^loss); a refusal ends the conversation."""
    law = {}
    open_ones = [((), 1.0)]
    while open_ones:
        seen, chance = open_ones.pop()
        if len(seen) == 3:
            law[seen] = law.get(seen, 0.0) + chance
            continue
        loss = strategy[seen]
        for answer in (0, 1):
            again = PrivacyFilter(budget.rule())
            for at in range(len(seen)):
                again.charge(dp.costs.Bounded(epsilon=strategy[seen[:at]]))
            try:
                again.charge(dp.costs.Bounded(epsilon=loss))
            except BudgetExceeded:
                if answer == 0:
                    law[(*seen, None)] = law.get((*seen, None), 0.0) + chance
                continue
            right = math.exp(loss) / (1 + math.exp(loss))
            open_ones.append(((*seen, answer), chance * (right if answer == truth else 1 - right)))
    assert sum(law.values()) == pytest.approx(1.0)
    return law


@pytest.mark.parametrize("limit", [Fraction(1, 2), Fraction(3, 4), Fraction(1)])
def test_a_pure_filter_holds_against_every_strategy(limit):
    worst = 0.0
    for strategy in STRATEGIES:
        yes, no = (transcripts(strategy, dp.budget(epsilon=limit), truth) for truth in (1, 0))
        worst = max(worst, *(abs(math.log(yes[seen] / no[seen])) for seen in yes))
    assert worst <= limit + 1e-9
    assert worst >= limit - 1e-9  # and some adversary gets all of it


def test_a_concentrated_filter_holds_against_every_strategy():
    budget = dp.budget(rho=Fraction(1, 6))
    worst = 0.0
    for strategy in STRATEGIES[::3]:
        yes, no = (transcripts(strategy, budget, truth) for truth in (1, 0))
        for order in ORDERS:
            moment = sum(p**order * no[seen] ** (1 - order) for seen, p in yes.items())
            worst = max(worst, math.log(moment) / (order - 1) / order)
    assert worst <= float(budget.rho) + 1e-9
    assert worst >= float(budget.rho) / 2
