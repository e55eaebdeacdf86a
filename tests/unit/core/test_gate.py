"""What a gate says when it refuses."""

from fractions import Fraction

import pytest

from deniable.accounting import budget
from deniable.core.gate import PrivacyFilter
from deniable.cost import Gaussian, Laplace
from deniable.errors import BudgetExceeded


def test_a_refusal_in_rho_says_what_sampling_was_lost():
    """A sampled Gaussian keeps its rho, so the refusal names the reading that knows better; a pure release is amplified."""
    gate = PrivacyFilter(budget(rho=Fraction(1, 1000)).filters())
    with pytest.raises(BudgetExceeded, match=r"as if it held everybody; dp\.epsilon reads its amplification"):
        gate.charge(Gaussian(scale=2, sensitivity=1).sampled(rate=Fraction(1, 100)))
    with pytest.raises(BudgetExceeded) as refusal:
        gate.charge(Laplace(scale=1).sampled(rate=Fraction(1, 2)))
    assert "everybody" not in str(refusal.value)
