"""The privacy loss at one answer: how much better it fits one data set than another, as a number and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deniable.accounting import Bracket
from deniable.core.mechanism import Likelihood, Mechanism
from deniable.errors import InvalidArgument
from deniable.exact.guards import shown

if TYPE_CHECKING:
    from deniable.plots import Figure


@dataclass(frozen=True, slots=True)
class LossAt:
    """ln P[answer on left] / P[answer on right], enclosed; positive where the answer speaks for the left data set."""

    answer: Any
    loss: Bracket
    _law: Likelihood
    _data: tuple[Any, Any]

    @property
    def lower(self) -> float:
        """The truth is no less."""
        return self.loss.lower

    @property
    def upper(self) -> float:
        """The truth is no more."""
        return self.loss.upper

    def __float__(self) -> float:
        return self.loss.upper

    def __repr__(self) -> str:
        return repr(self.loss)

    def plot(self) -> Figure:
        """The loss at every likely answer, with this one marked."""
        from deniable.plots import answer_losses, named_answer_losses

        answers = self._law.answers(*self._data)
        if not answers:
            raise InvalidArgument("an answer of several numbers has no picture; ask for the loss of one number")
        losses = [_read(self._law, each, self._data).upper for each in answers]
        said = f"at {shown(self.answer)} it is {self.loss}"
        if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in answers):
            return named_answer_losses([shown(each) for each in answers], losses=losses, said=said)
        return answer_losses(answers, losses=losses, marked=(self.answer, self.upper), said=said)


def _read(law: Likelihood, answer: Any, data: tuple[Any, Any]) -> Bracket:
    loss = law.loss(answer, *data)
    return Bracket.around(loss.lower, loss.upper)


def loss_at(mechanism: Mechanism, answer: Any, *, left: Any, right: Any) -> LossAt:
    """How much this one answer tells about which of two data sets gave it, as `mechanism` itself answers.

    Added noise, randomized response and the exponential mechanism know it in closed form, also behind transformations that do
    not draw. A study of data sets you make up: computed from private data it is private.

    Guarantee: the ends enclose the loss of exactly the law that is drawn; for neighbours at distance d no loss of a purely
    private mechanism leaves ± the epsilon of `mechanism.cost(d_in=d)`.
    """
    if not isinstance(mechanism, Mechanism):
        raise InvalidArgument(f"the loss is that of a mechanism's answer, got {mechanism!r}")
    law = mechanism.likelihood
    if law is None:
        raise InvalidArgument(
            "this mechanism's answers have no law in closed form here: ask laplace, gaussian, discrete_gaussian, "
            "randomized_response, local_mean or exponential, before their answer was processed"
        )
    return LossAt(answer, _read(law, answer, (left, right)), law, (left, right))
