"""Epsilon in plain words: odds, frequencies of one hundred, sample outputs, and what is not protected.

The sentences follow the way of telling that people were found to understand best: counts out of one hundred possible releases, with
and without one person. Every count is rounded against us.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from deniable.errors import InvalidArgument
from deniable.exact import digits, exp, ln, up
from deniable.exact.guards import Real, integer, nonnegative, open_probability, positive, probability
from deniable.noise import Entropy, discrete_laplaces, system_entropy
from deniable.svg import Figure

NOT_PROTECTED = (
    "What the data say about everybody: a release that shows that smoking harms tells about smokers, in the data or not.",
    "What is public already, and what other releases of the same people add to it.",
    "Groups: two people of one household have twice the loss of one.",
    "Anything outside the release: the stored data, the people who handle it, the machines it lies on.",
)
"""What no epsilon helps against."""


def epsilon_for_truth(chance: Real) -> Fraction:
    """The epsilon at which the best guess whether a person took part is right with this probability: ln(p/(1 - p)), rounded down.

    Guarantee: at this epsilon and delta zero, no attacker who thinks both equally likely is right more often.
    """
    right = open_probability(chance=chance)
    if not right > Fraction(1, 2):
        raise InvalidArgument(f"chance must be above one half, which is what guessing gives, got {chance!r}")
    return Fraction(math.floor(ln(right / (1 - right)).lower * 10**6), 10**6)


@dataclass(frozen=True, slots=True)
class EpsilonMeaning:
    """One epsilon (and delta) in words. Counts are out of one hundred possible releases."""

    epsilon: Fraction
    delta: Fraction

    @property
    def odds(self) -> float:
        """Any release is at most so many times as likely with a person as without."""
        return up(exp(self.epsilon))

    @property
    def truth(self) -> float:
        """The best chance of a right guess whether somebody took part, when both were equally likely."""
        grown = exp(self.epsilon)
        return min(1.0, up((grown.upper + self.delta) / (grown.lower + 1)))

    @property
    def of_hundred(self) -> tuple[int, int]:
        """Of 100 releases, how many can make an analyst believe that a person took part: if so, and if not."""
        with_person = min(100, math.ceil(100 * self.truth - 1e-9))
        return with_person, 100 - with_person

    @property
    def right_of_hundred(self) -> str:
        """The best chance of a right guess out of one hundred, to four digits."""
        return digits(100 * Fraction(self.truth), most=4)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the number means, for people who never heard of it."""
        yes, no = self.of_hundred
        tail = (
            f" With probability at most {digits(self.delta)} the protection may fail altogether." if self.delta else ""
        )
        return (
            f"If a person takes part, the sharpest even-handed test says so for at most {yes} of 100 possible releases; "
            f"if the same person does not, it still says so for {no} of 100.",
            f"No release is more than {digits(exp(self.epsilon).upper, most=4)} times as likely with a person's data as "
            f"without.{tail}",
            f"Who thought a person's participation as likely as not can be right at most {self.right_of_hundred} % of the time.",
        )

    def picture(self) -> Figure:
        """One hundred releases as dots, with and without the person; the filled ones point to participation."""
        return _dots(self.of_hundred)

    def samples(
        self, *, value: int, sensitivity: Real = 1, count: int = 5, entropy: Entropy | None = None
    ) -> tuple[int, ...]:
        """Answers that a count of `value` could be released as at this epsilon: made-up, for the eye; nobody's data is involved."""
        size, scale = integer(count=count, least=1), positive(sensitivity=sensitivity) / positive(epsilon=self.epsilon)
        return tuple(value + int(each) for each in discrete_laplaces(scale, size, entropy or system_entropy()))

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def explain_epsilon(epsilon: Real, *, delta: Real = 0) -> EpsilonMeaning:
    """This epsilon in words."""
    return EpsilonMeaning(nonnegative(epsilon=epsilon), probability(delta=delta))


def _dots(filled: tuple[int, int]) -> Figure:
    """Two squares of ten by ten dots."""
    parts = []
    words = (f"with the person: {filled[0]} of 100", f"without: {filled[1]} of 100")
    for side, (count, text) in enumerate(zip(filled, words, strict=True)):
        left = 20 + side * 230
        parts.append(f'<text x="{left}" y="24" font-size="14" font-family="sans-serif">{text}</text>')
        for place in range(100):
            x, y = left + 10 + 19 * (place % 10), 48 + 19 * (place // 10)
            colour = "#b3541e" if place < count else "none"
            parts.append(f'<circle cx="{x}" cy="{y}" r="7" fill="{colour}" stroke="#555555"/>')
    title = f"Releases that point to participation: {words[0]}, {words[1]}"
    body = f'<title>{title}</title><rect width="470" height="250" fill="#ffffff"/>' + "".join(parts)
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 470 250" width="470" height="250">{body}</svg>'
    return Figure(svg, 470, 250)
