"""`deniable demo`: a first private release, on data it makes up."""

from __future__ import annotations

from fractions import Fraction

from deniable.accounting import budget, epsilon
from deniable.cli.app import application
from deniable.core.gate import Filter
from deniable.cost import DiscreteLaplace
from deniable.exact import exp
from deniable.noise import discrete_laplace, system_entropy

app = application("Make a first private release and show its value, its error and its cost.")


@app.command()
def demo() -> None:
    """Count made-up survey answers privately: value, error, cost and what is left of the budget."""
    answers = [person % 7 in (0, 1, 3) for person in range(1000)]
    gate = Filter(budget(epsilon=1).rule())
    cost = DiscreteLaplace(scale=2, sensitivity=1)
    print("1000 made-up people were asked; one person more or less changes the count of yes by 1.")
    print(f"budget:   {gate.remaining}")
    gate.charge(cost)
    released = sum(answers) + discrete_laplace(cost.scale, system_entropy())
    print(f"released: {released} said yes, within {_error(cost.scale)} of the truth with probability 95 %")
    print(f"cost:     epsilon = {epsilon(cost, delta=0)}, charged before the data was read")
    print(f"left:     {gate.remaining}")
    print(f"truth:    {sum(answers)}, which only this demonstration may show, because it made the data up")


def _error(scale: Fraction) -> int:
    """The least t with P(|noise| > t) = 2·q^(t+1) / (1 + q) at most 1/20, where q = exp(-1 / scale), rounded against us."""
    q = exp(-1 / scale).upper
    return next(t for t in range(10**6) if 2 * q ** (t + 1) / (1 + q) <= Fraction(1, 20))
