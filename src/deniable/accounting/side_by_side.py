"""Several filters side by side: a query is answered while one that has allowed everything answered so far still allows it.

Which filters are still in is a function of the costs of what was answered, and of nothing else: sums only grow, so a filter whose
sum has passed its limit, or that could not read an answered cost, never returns. Proof: docs/theory/best-of-filters.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from deniable.accounting.filters import Record, Rule, RuleKind, rule_from_record
from deniable.accounting.measures.concentrated import lost_by_rho
from deniable.accounting.measures.measure import Adaptivity
from deniable.accounting.spend import Spend, round_up
from deniable.cost import Bounded, Calibrated, Composed, Cost, Repeated
from deniable.errors import InvalidArgument, Unaccountable

_SAME = Fraction(1, 10**40)
"""Leaks are rounded up part by part or as a whole, which differs in the fiftieth digit."""


_FINER = Fraction(10**6 + 1, 10**6)
_GUESSES = 8
"""So often the end of what is allowed is guessed, before what is left is halved."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What was spent as each filter counts it (None where it could not read a cost), and the leaks, which all count alike."""

    parts: tuple[Spend | None, ...]
    leak: Fraction = Fraction(0)

    def __add__(self, other: Tally) -> Tally:
        pairs = zip(self.parts, other.parts, strict=True)
        parts = (None if one is None or two is None else one + two for one, two in pairs)
        return Tally(tuple(parts), self.leak + other.leak)


@dataclass(frozen=True, slots=True)
class Filters:
    """Rules that count the same costs side by side, and the `reserve` of delta that all of them keep for leaks.

    The delta of a rule's limit is the reserve and, beyond it, what it may spend on pairs that noise was calibrated to.

    Guarantee: everything answered while `fits` held before each answer together keeps the budget whose shares the rules are
    (`Budget.filters`), for adaptively chosen queries and losses. One rule alone keeps its own limit.
    """

    rules: tuple[Rule, ...]
    reserve: Fraction
    reason: str = ""

    def __post_init__(self) -> None:
        if not self.rules:
            raise InvalidArgument("a filter needs at least one rule, got none")
        for rule in self.rules:
            if rule.adaptivity is not Adaptivity.LOSSES:
                raise InvalidArgument(
                    f"rule {rule.name!r} is sound only for losses fixed beforehand; declare the costs as a plan instead"
                )
            if rule.limit.delta < self.reserve:
                raise InvalidArgument(f"the reserve {self.reserve} is above the delta of rule {rule.name!r}")

    @classmethod
    def single(cls, rule: Rule) -> Filters:
        """One rule, alone."""
        return cls((rule,), rule.limit.delta, rule.reason)

    @property
    def only(self) -> Rule | None:
        """The rule, if there is one alone."""
        return self.rules[0] if len(self.rules) == 1 else None

    @property
    def name(self) -> str:
        """How this is called in a record."""
        return self.only.name if self.only else "best"

    @property
    def unit(self) -> str:
        """What the budget is stated in."""
        return self.only.unit if self.only else "epsilon"

    @property
    def pool(self) -> Fraction:
        """The delta that queries draw on: the reserve for leaks, and no more than there is for pairs."""
        basic = () if self.only else (rule for rule in self.rules if rule.kind is RuleKind.BASIC)
        return min([self.reserve, *(rule.limit.delta - self.reserve for rule in basic)])

    def pool_left(self, tally: Tally) -> Fraction:
        """What is left of the pool; pairs count only where no rule is left but the one that adds them up."""
        rest = [self.reserve - tally.leak]
        alive = [pair for pair, lives in zip(self._paired(tally.parts), self.alive(tally), strict=True) if lives]
        for rule, spend in alive if len(alive) == 1 and not self.only else ():
            if rule.kind is RuleKind.BASIC and spend is not None:
                rest.append(rule.limit.delta - self.reserve - (spend.delta - tally.leak))
        return max(Fraction(0), min(rest))

    @property
    def nothing(self) -> Tally:
        """What public information costs."""
        return Tally(tuple(Spend(Fraction(0), Fraction(0), rule.unit) for rule in self.rules))

    def read(self, cost: Cost) -> Tally:
        """What a cost spends by each rule; `Unaccountable` if none can read it."""
        return _read(self, cost)

    def _agreeing(self, found: list[Spend | None], stated: Fraction) -> Tally:
        """All must mean the same leaks; a rule that sees others is out. Rényi is asked first: it reads the most."""
        leaks = [None if spend is None else self._leak(rule, spend, stated) for rule, spend in self._paired(found)]
        ranked = sorted(
            ((rule.order is None, leak) for rule, leak in zip(self.rules, leaks, strict=True) if leak is not None)
        )
        meant = ranked[0][1]
        same = [leak is not None and abs(leak - meant) <= _SAME for leak in leaks]
        leak = max(each for each, agrees in zip(leaks, same, strict=True) if each is not None and agrees)
        parts = (
            Spend(spend.loss, leak + (stated if rule.kind is RuleKind.BASIC else 0), rule.unit)
            if spend and agrees
            else None
            for (rule, spend), agrees in zip(self._paired(found), same, strict=True)
        )
        return Tally(tuple(parts), leak)

    def _paired(self, found: Iterable[Spend | None]) -> Iterable[tuple[Rule, Spend | None]]:
        return zip(self.rules, found, strict=True)

    @staticmethod
    def _leak(rule: Rule, spend: Spend, stated: Fraction) -> Fraction:
        return spend.delta - stated if rule.kind is RuleKind.BASIC else spend.delta

    def alive(self, tally: Tally) -> list[bool]:
        """Which rules have allowed everything in this tally."""
        if tally.leak > self.reserve and not self.only:
            return [False] * len(self.rules)
        return [
            spend is not None and self._within(rule, spend, tally.leak) for rule, spend in self._paired(tally.parts)
        ]

    def _within(self, rule: Rule, spend: Spend, leak: Fraction) -> bool:
        return rule.fits(spend) and (bool(self.only) or spend.delta - leak <= rule.limit.delta - self.reserve)

    def fits(self, tally: Tally) -> bool:
        """Whether at least one rule has allowed everything in this tally."""
        return any(self.alive(tally))

    def leader(self, tally: Tally) -> Rule:
        """The rule that leaves most; of those that could still allow something, if there are any."""
        return self.rules[self._lead(tally)]

    def _lead(self, tally: Tally) -> int:
        alive = self.alive(tally)
        used = [
            (not alive[place], used_up(spend, rule.limit), place)
            for place, (rule, spend) in enumerate(self._paired(tally.parts))
        ]
        return min(used)[2]

    def spent(self, tally: Tally, rule: Rule | None = None) -> Spend:
        """The tally as a rule counts it, the leading one unless named; all of its limit where it could not."""
        rule = rule or self.leader(tally)
        spend = tally.parts[self.rules.index(rule)]
        return rule.limit if spend is None else replace(spend, unit=rule.unit)

    def left(self, tally: Tally) -> Spend:
        """What the leading rule has left; never below zero."""
        rest = self.leader(tally).limit - self.spent(tally)
        return Spend(max(rest.loss, Fraction(0)), max(rest.delta, Fraction(0)), self.leader(tally).unit)

    def room(self, tally: Tally) -> Spend:
        """What is left as people budget: the largest epsilon of one pure release that would still be allowed, rounded down.

        For one rule alone it is what that rule has left, in its own measure.
        """
        return _room(self, tally)

    def used(self, tally: Tally) -> Spend:
        """What was spent as people budget: what there is less room for than at first, and the deltas that were added up."""
        if self.only:
            return self.spent(tally)
        summed = self.stated(tally)
        delta = tally.leak if summed is None else summed.delta
        return Spend(self.room(self.nothing).loss - self.room(tally).loss, delta, "epsilon")

    def stated(self, asked: Tally) -> Spend | None:
        """What is asked for as people budget: the pair that adds up, where there is one; of one rule alone its own reading."""
        if self.only:
            return asked.parts[0]
        return next((spend for rule, spend in self._paired(asked.parts) if rule.kind is RuleKind.BASIC), None)

    @property
    def whole(self) -> Spend:
        """The limit as people budget: of several rules the epsilon they keep together."""
        basic = next((rule for rule in self.rules if rule.kind is RuleKind.BASIC), None)
        return self.rules[0].limit if self.only or basic is None else Spend(basic.limit.loss, unit="epsilon")

    def _allows(self, tally: Tally, epsilon: Fraction) -> bool:
        return epsilon >= 0 and self.fits(tally + self.read(Bounded(epsilon=epsilon)))

    def price(self, asked: Tally, before: Tally) -> Spend:
        """What is asked for, in the measure of the rule that leaves most afterwards, or of one that reads it."""
        lead = asked.parts[self._lead(before + asked)]
        return next(part for part in (lead, *asked.parts) if part is not None)

    def more(self, asked: Tally, before: Tally) -> int | None:
        """How many times this fits into what is left, by the rule that takes most; None if it costs nothing."""
        rooms = self.rooms(asked, before)
        if not rooms:
            return 0
        return None if None in rooms else max(math.floor(room) for room in rooms if room is not None)

    def rooms(self, asked: Tally, before: Tally) -> list[Fraction | None]:
        """How many times over this fits into what each living rule has left; None when it costs nothing there."""
        alive = self.alive(before)
        return [
            self._room(rule, one, asked.leak, spent, before.leak)
            for rule, one, spent, lives in zip(self.rules, asked.parts, before.parts, alive, strict=True)
            if lives and one is not None and spent is not None
        ]

    def _room(self, rule: Rule, one: Spend, leak: Fraction, spent: Spend, leaked: Fraction) -> Fraction | None:
        pools = (
            (one.loss, rule.limit.loss - spent.loss),
            (leak, self.reserve - leaked),
            (one.delta - leak, rule.limit.delta - self.reserve - (spent.delta - leaked)),
        )
        return min((left / need for need, left in pools if need > 0), default=None)

    @property
    def theorem(self) -> str:
        """The theorem this rests on, and why it was picked."""
        if self.only:
            return f"{self.only.theorem}; {self.only.reason}"
        names = ", ".join(rule.name for rule in self.rules)
        return f"best of several filters ({names}), each with its share of delta; {self.reason}"

    @property
    def adaptivity(self) -> Adaptivity:
        """What may be chosen from earlier answers."""
        return Adaptivity.LOSSES

    def to_record(self) -> Record:
        """As a JSON-able dictionary; one rule alone is written as that rule."""
        if self.only:
            return self.only.to_record()
        rules = [rule.to_record() for rule in self.rules]
        return {"rule": "best", "reserve": str(self.reserve), "rules": rules, "reason": self.reason}


@lru_cache(maxsize=256)
def _read(filters: Filters, cost: Cost) -> Tally:
    """A price, its charge and the next price of the same question read one cost."""
    if filters.only:
        spend = filters.only.read(cost)
        return Tally((spend,), spend.delta)
    found: list[Spend | None] = []
    refusals: list[str] = []
    for rule in filters.rules:
        try:
            found.append(rule.read(cost))
        except Unaccountable as refusal:
            found.append(None)
            refusals.append(str(refusal))
    if len(refusals) == len(filters.rules):
        raise Unaccountable(refusals[0])
    return filters._agreeing(found, pairs(cost))


@lru_cache(maxsize=64)
def _room(filters: Filters, tally: Tally) -> Spend:
    """A search; a balance asks for the same one several times."""
    if filters.only:
        return filters.left(tally)
    basic = [pair for pair in filters._paired(tally.parts) if pair[0].kind is RuleKind.BASIC]
    limit = max((rule.limit.loss for rule, _ in basic), default=Fraction(0))
    best = max(
        (rule.limit.loss - spend.loss for rule, spend in basic if spend is not None and filters.fits(tally)),
        default=Fraction(0),
    )
    low = max(best, Fraction(0)) if filters._allows(tally, best) else Fraction(0)
    if not filters._allows(tally, low * _FINER + limit / 10**6):
        return Spend(low, filters.pool_left(tally), "epsilon")
    steps = 1
    while limit - low > steps * limit / 10**6:
        steps *= 2
    step = (limit - low) / steps
    return Spend(low + step * _last_allowed(filters, tally, low, step, steps), filters.pool_left(tally), "epsilon")


def _last_allowed(filters: Filters, tally: Tally, first: Fraction, step: Fraction, steps: int) -> int:
    """How many steps above `first` are still allowed, fewer than `steps`: guessed by shares that are used, decided by the rules."""

    def tried(many: int) -> tuple[bool, float]:
        whole = tally + filters.read(Bounded(epsilon=first + many * step))
        shares = [used_up(spend, rule.limit) for rule, spend in filters._paired(whole.parts)]
        return filters.fits(whole), min((float(share) for beyond, share in shares if not beyond), default=2.0) - 1

    low, high, below, above = 0, steps, -tried(0)[1], tried(steps)[1]
    sides = list[bool]()
    while high - low > 1:
        guessed = len(sides) < _GUESSES and min(below, above) > 0
        part = below / (below + above) if guessed else 0.5
        many = min(max(low + round((high - low) * part), low + 1), high - 1)
        fits, share = tried(many)
        again = 2 if sides[-1:] == [fits] else 1  # the end that stays for the second time counts half
        if fits:
            low, below, above = many, -share, above / again
        else:
            high, above, below = many, share, below / again
        sides.append(fits)
    return low


def filters_from_record(record: Record) -> Filters:
    """The filters that `to_record` wrote down; a record of one rule is that rule, alone."""
    if record.get("rule") != "best":
        return Filters.single(rule_from_record(record))
    rules = tuple(rule_from_record(each) for each in record["rules"])
    return Filters(rules, Fraction(record["reserve"]), record["reason"])


def pairs(cost: Cost) -> Fraction:
    """The deltas of the pairs that noise was calibrated to: no leaks, but what adding up must count."""
    match cost:
        case Composed(costs):
            return sum(map(pairs, costs), Fraction(0))
        case Repeated(each, times):
            return pairs(each) * times
        case Calibrated(_, _, delta):
            return round_up(delta)
        case _:
            return Fraction(0)


def used_up(spend: Spend | None, limit: Spend) -> tuple[bool, Fraction]:
    """Which share of a limit is used; whatever is not within any share sorts last."""
    if spend is None or (spend.loss > 0 and limit.loss == 0) or (spend.delta > 0 and limit.delta == 0):
        return True, Fraction(0)
    shares = [used / most for used, most in ((spend.loss, limit.loss), (spend.delta, limit.delta)) if used > 0]
    return False, max(shares, default=Fraction(0))


def lost_by(rule: Rule, cost: Cost) -> str:
    """What this rule's reading of a cost gives away, in brackets at the end of a refusal; "" if nothing."""
    said = lost_by_rho(cost) if rule.kind is RuleKind.CONCENTRATED else ""
    return f" ({said})" if said else ""
