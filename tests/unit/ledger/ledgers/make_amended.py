"""Write `amended.ledger` with version 0.1 (commit 06c72a6): charges, answers, a change of the data, an amendment.

Run with that version's `src` on the path: `PYTHONPATH=src XDG_STATE_HOME=$(mktemp -d) python make_amended.py amended.ledger`.
"""

import sys
from fractions import Fraction

import deniable as dp
from deniable.accounting import budget
from deniable.cost import Bounded, DiscreteLaplace, Gaussian

Ledger, Terms, fingerprint = dp.ledger.Ledger, dp.ledger.Terms, dp.ledger.fingerprint

TERMS = {"dataset": "visits", "unit": "patient", "codebook": fingerprint("columns: {}")}

ledger = Ledger.open(sys.argv[1], terms=Terms(budget=budget(epsilon=1), **TERMS))
ledger.answer(Bounded(epsilon=Fraction(1, 4)), lambda: b"first answer", request="first", plan="aa")
ledger.answer(DiscreteLaplace(scale=8, sensitivity=1), lambda: b"second answer", request="second", account="ann")
ledger.reserve(Bounded(epsilon=Fraction(1, 8)), request="lost")
ledger.new_version(reason="a month later", by="curator")
ledger.amend(Terms(budget=budget(rho=1, delta=1e-6), **TERMS), reason="for Gaussian noise", by="curator")
ledger = Ledger.existing(sys.argv[1])
ledger.answer(Gaussian(scale=10, sensitivity=1), lambda: b"third answer", request="third")
ledger.charge(Bounded(epsilon=Fraction(1, 10)))
