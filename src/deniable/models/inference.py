"""A fitted model as an expression of the plan: private inference, where what is predicted for a row is a function of that row.

The expression is total: it has a value for every row whose columns have one. Chances are straight pieces between public points: of
two classes at most 0.05 from the curve, of three to five at most 0.07.

Guarantee: a row map; it moves no unit further than its rows, so what is computed from it costs what the query costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import combinations
from math import exp, frexp, log

from deniable.models.encoding import GRID, OTHER, Feature, NumberScale
from deniable.plan.expression import (
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
)
from deniable.plan.functions.calendar import DaysBetween
from deniable.plan.functions.numeric import Round, Rounding
from deniable.plan.functions.several import Greatest, Least

BREAKS = (Fraction(-7, 2), Fraction(-6, 5), Fraction(6, 5), Fraction(7, 2))
"""Log odds between which the chance is straight."""
_LEVELS = 1 << 12
EPOCH = date(1970, 1, 1)


def number_expression(features: Sequence[Feature], weights: Sequence[float], target: Feature) -> Expression:
    """What a linear regression predicts for a row, within the target's bounds."""
    low, high = (end * target.step for end in (target.lower, target.upper))
    scaled = _weighted(features, weights, target.half_width)
    return _present(features, _between(_sum([scaled, _literal(_short(target.middle))]), low, high))


def chance_expression(features: Sequence[Feature], weights: Sequence[float], *, sign: int) -> Expression:
    """The chance of the second class of a logistic regression, or with sign -1 of the first."""
    return _present(features, _chance(_weighted(features, weights, sign)))


MOST_CLASSES = 5
"""Beyond so many classes the chance of one of them would be too large an expression."""
_OFF = (0.0, 0.0, 0.223, 0.334, 0.441)
"""How far the best of the mixes may be below the logarithm of so many exponentials added up; half of it is added."""


@dataclass(frozen=True, slots=True)
class ClassMix:
    """Weights of the classes' scores, the wanted one's 1 and those of the others together -1, and a number to add."""

    weights: tuple[float, ...]
    plus: float

    def of(self, values: Sequence[float]) -> float:
        """One number of every class, added up with these weights."""
        return sum(weight * value for weight, value in zip(self.weights, values, strict=True))


def class_mixes(classes: int, wanted: int) -> tuple[ClassMix, ...]:
    """Mixes whose least is about the log odds of one class against all others (docs/theory/class-chances.md).

    The logarithm of a sum of exponentials is the most that any mix of the exponents and its entropy come to.
    """
    others = [place for place in range(classes) if place != wanted]
    found = []
    for shares in _shares(len(others)):
        weights = [0.0] * classes
        weights[wanted] = 1.0
        for place, share in zip(others, shares, strict=True):
            weights[place] = -float(share)
        entropy = -sum(float(share) * log(share) for share in shares if share)
        found.append(ClassMix(tuple(weights), -entropy - _OFF[len(others)] / 2))
    return tuple(found)


def _shares(others: int) -> list[tuple[Fraction, ...]]:
    """How the others are mixed: one alone, two evenly, and all evenly."""
    counts = sorted({1, 2, others} if others > 1 else {1})
    evenly = (some for count in counts for some in combinations(range(others), count))
    return [tuple(Fraction(place in some, len(some)) for place in range(others)) for some in evenly]


ODDS = "odds"
"""Columns of log odds that a large model is written down in are called this, with a number."""


def softmax_odds(features: Sequence[Feature], weights: Sequence[Sequence[float]], *, wanted: int) -> list[Expression]:
    """Log odds of one of several classes of a logistic regression, of which the least counts; `weights` are those of each class."""
    columns = list(zip(*weights, strict=True))
    return [
        _sum([_weighted(features, [mix.of(column) for column in columns], 1), _literal(_short(mix.plus))])
        for mix in class_mixes(len(weights), wanted)
    ]


def curves_odds(mixes: Sequence[tuple[float, Sequence[FeatureCurve]]]) -> list[Expression]:
    """Sums of a number and curves."""
    return [_sum([_literal(_short(start)), *(_curve(each) for each in curves)]) for start, curves in mixes]


def odds_chance(features: Sequence[Feature], odds: Sequence[Expression]) -> Expression:
    """The chance whose log odds are the least of these."""
    return _present(features, _chance(_least(odds)))


def odds_columns(features: Sequence[Feature], odds: Sequence[Expression]) -> dict[str, Expression]:
    """The same log odds as columns to derive first, so that a large model is not written down several times over."""
    return {f"{ODDS}_{place}": _present(features, each) for place, each in enumerate(odds, start=1)}


def columns_chance(count: int) -> Expression:
    """The chance from so many such columns."""
    columns = [Column(f"{ODDS}_{place}") for place in range(1, count + 1)]
    return Case(((And(tuple(Not(IsNull(each)) for each in columns)), _chance(_least(columns))),), None)


def _least(of: Sequence[Expression]) -> Expression:
    return of[0] if len(of) == 1 else Least(tuple(of))


@dataclass(frozen=True, slots=True)
class Branch:
    """A tree of questions: the share in a leaf, or a question about one column with the branches of its two answers."""

    share: Fraction = Fraction(0)
    feature: Feature | None = None
    place: int = 0
    equal: bool = False
    yes: Branch | None = None
    no: Branch | None = None


def trees_expression(features: Sequence[Feature], trees: Sequence[Branch]) -> Expression:
    """The sum of the shares of the leaves in which a row ends."""
    return _present(features, _sum([_tree(tree) for tree in trees]))


@dataclass(frozen=True, slots=True)
class FeatureCurve:
    """What one column adds to a score: a height for each category, steps between edges, or a parabola of its place from -1 to 1.

    `edges` are upper ends, one fewer than `heights`, in grid steps of the column. `powers` are the weights of the place and of its
    square, on the column's straight or logarithmic scale.
    """

    feature: Feature
    heights: tuple[float, ...] = ()
    edges: tuple[int, ...] = ()
    powers: tuple[float, float] = (0.0, 0.0)
    scale: NumberScale = NumberScale.LINEAR


def curves_number(features: Sequence[Feature], curves: Sequence[FeatureCurve], target: Feature) -> Expression:
    """The number that is the middle of the target's bounds and the sum of all curves, times half of their width."""
    low, high = (end * target.step for end in (target.lower, target.upper))
    parts = [_times(_curve(each), _short(target.half_width)) for each in curves]
    return _present(features, _between(_sum([_literal(_short(target.middle)), *parts]), low, high))


def _curve(curve: FeatureCurve) -> Expression:
    if not curve.feature.is_number:
        whole = Feature(curve.feature.name, curve.feature.values)
        return _category(whole, [_short(height) for height in curve.heights])
    if curve.heights:
        return _steps(curve)
    return _parabola(curve)


def _steps(curve: FeatureCurve) -> Expression:
    """The height of the first stretch whose upper end is not below the number."""
    *heights, last = (_literal(_short(height)) for height in curve.heights)
    column, step = _column(curve.feature), curve.feature.step
    pairs = [
        (Compare(Comparison.AT_MOST, column, Literal(edge * step)), height)
        for edge, height in zip(curve.edges, heights, strict=True)
    ]
    return Case(tuple(pairs), last) if pairs else last


def _parabola(curve: FeatureCurve) -> Expression:
    low, high = curve.feature.lower * curve.feature.step, curve.feature.upper * curve.feature.step
    if low == high:
        return _literal(Fraction(0))
    logarithmic = curve.scale is NumberScale.BOTH
    share = _logarithm(curve.feature, low, high) if logarithmic else _share(curve.feature, low, high)
    place = _sum([share, _literal(Fraction(-1))])
    first, second = (_short(power) for power in curve.powers)
    straight = _times(place, first)
    if not second:
        return straight
    return _sum([straight, _times(_rounded(Arithmetic(Operator.MULTIPLY, place, place)), second)])


def _present(features: Sequence[Feature], value: Expression) -> Expression:
    """The value where no feature is missing; missing where one is, as in every other query."""
    known = tuple(Not(IsNull(Column(each.name))) for each in features if not _is_open(each))
    return Case(((And(known), value),), None) if known else value


def _is_open(feature: Feature) -> bool:
    """Whether its last category stands for every value that is not listed."""
    return feature.values[-1:] == (OTHER,)


def _column(feature: Feature) -> Expression:
    """The number of a row: of a date its days since the beginning of 1970."""
    return DaysBetween(Literal(EPOCH), Column(feature.name)) if feature.dated else Column(feature.name)


def _weighted(features: Sequence[Feature], weights: Sequence[float], times: float) -> Expression:
    """The sum of columns times weights, on the scale of -1 to 1, times a public number."""
    terms: list[Expression] = [_literal(_short(weights[0] * times))]
    place = 1
    for each in features:
        own = [_short(weight * times) for weight in weights[place : place + each.width]]
        terms += _number(each, own) if each.is_number else [_category(each, own)]
        place += each.width
    return _sum(terms)


def _category(feature: Feature, weights: Sequence[Fraction]) -> Expression:
    listed = feature.values[int(feature.reference) :]
    column: Expression = Column(feature.name)
    if feature.values == (False, True):
        pairs = [(column if value else Not(column), weight) for value, weight in zip(listed, weights, strict=True)]
    else:
        pairs = [
            (Compare(Comparison.EQUAL, column, Literal(value)), weight)
            for value, weight in zip(listed, weights, strict=True)
        ]
    others = weights[-1] if listed and _is_open(feature) else Fraction(0)
    return Case(tuple((when, _literal(weight)) for when, weight in pairs), _literal(others))


def _number(feature: Feature, weights: Sequence[Fraction]) -> list[Expression]:
    """A number's part: its place between its bounds, and that place on the logarithmic scale, each times its weight."""
    low, high = feature.lower * feature.step, feature.upper * feature.step
    if low == high:
        return [_literal(Fraction(0))]
    terms: list[Expression] = [_times(_share(feature, low, high), weights[0]), _literal(-weights[0])]
    if feature.scale is NumberScale.BOTH:
        terms += [_times(_logarithm(feature, low, high), weights[1]), _literal(-weights[1])]
    return terms


def _share(feature: Feature, low: Fraction, high: Fraction) -> Expression:
    """From 0 to 2 between the bounds, on the grid."""
    return _rounded(_times(_sum([_between(_column(feature), low, high), _literal(-low)]), _fine(2 / (high - low))))


def _logarithm(feature: Feature, low: Fraction, high: Fraction) -> Expression:
    """From 0 to 2 along the base-two logarithm, straight between powers of two."""
    steps = min(feature.upper - feature.lower, _LEVELS)
    unit = (high - low) / steps
    top = (steps + 1).bit_length() - 1
    whole = top + Fraction(steps + 1 - (1 << top), 1 << top)
    parts: list[Expression] = []
    for power in range(top + 1):
        start, end = (_on(low + unit * ((times << power) - 1), feature.step) for times in (1, 2))
        end = min(end, high)
        if start < end:
            inside = _sum([_between(_column(feature), start, end), _literal(-start)])
            parts.append(_times(inside, Fraction(1, 1 << power)))
    return _rounded(_times(_sum(parts), _fine(2 / (unit * whole))))


def _on(value: Fraction, step: Fraction) -> Fraction:
    return round(value / step) * step


def _chance(score: Expression) -> Expression:
    """The chance for these log odds, by straight pieces; the outer two rise alike, so the score is written down twice only."""
    low, start, end, high = BREAKS
    heights = [_short(1 / (1 + exp(-float(at)))) for at in BREAKS]
    outer = _short(float((heights[1] - heights[0]) / (start - low)))
    inner = _short(float((heights[2] - heights[1]) / (end - start))) - outer
    wide, steep = _times(_between(score, low, high), outer), _times(_between(score, start, end), inner)
    return _sum([_literal(heights[0] - outer * low - inner * start), wide, steep])


def _tree(branch: Branch) -> Expression:
    if branch.feature is None or branch.yes is None or branch.no is None:
        return _literal(branch.share)
    return Case(((_condition(branch.feature, branch.place, branch.equal), _tree(branch.yes)),), _tree(branch.no))


def _condition(feature: Feature, place: int, equal: bool) -> Expression:
    if not equal:
        return Compare(Comparison.AT_MOST, _column(feature), Literal(place * feature.step))
    value, column = feature.values[place], Column(feature.name)
    if value == OTHER and _is_open(feature):
        return Or((IsNull(column), Not(In(column, tuple(Literal(each) for each in feature.values[:-1])))))
    if isinstance(value, bool):
        return column if value else Not(column)
    return Compare(Comparison.EQUAL, column, Literal(value))


def _short(value: float) -> Fraction:
    """A number of twelve binary places."""
    return Fraction(round(value * (1 << 12)), 1 << 12)


def _fine(value: Fraction) -> Fraction:
    """A number of sixteen binary digits, for a product that is rounded at once."""
    places = max(16 - frexp(float(value))[1], 0)
    return Fraction(round(value * (1 << places)), 1 << places)


def _rounded(of: Expression) -> Expression:
    return Round(Rounding.NEAREST, of, Fraction(1, GRID))


def _literal(value: Fraction) -> Literal:
    return Literal(value)


def _times(left: Expression, right: Fraction) -> Expression:
    return Arithmetic(Operator.MULTIPLY, left, _literal(right))


def _sum(terms: Sequence[Expression]) -> Expression:
    total = terms[0]
    for term in terms[1:]:
        total = Arithmetic(Operator.ADD, total, term)
    return total


def _between(of: Expression, lower: Fraction, upper: Fraction) -> Expression:
    """Limited to [lower, upper], where it is known that `of` is not missing: shorter as SQL than a clamp."""
    return Least((_literal(upper), Greatest((_literal(lower), of))))
