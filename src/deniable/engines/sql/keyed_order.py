"""The keyed order of `engines.order` as SQL, in layers: each layer names what the next one uses twice.

Guarantee: what is kept of a unit is chosen within that unit's partition, from its own rows and the order key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sqlglot import exp

from deniable.engines.order import HEX_DIGITS, MASK, MOST_MIXED, NUMBER_MASK, OrderKey, single_word
from deniable.plan.facts import Facts, Kind
from deniable.plan.profile import Profile
from deniable.plan.sql_trees import (
    Tree,
    add,
    bigint,
    binary,
    case,
    column,
    multiply,
    named,
    number,
    over,
    subtract,
    text,
)

assert HEX_DIGITS == 15, "Profile.text_number takes 15 digits"

Known: TypeAlias = Sequence[tuple[str, Facts]]
"""Columns by name, with their facts."""

AMONG = ("among", Facts(Kind.NUMBER, nullable=False, lower=0, upper=NUMBER_MASK))
"""A row's number among equals, as a word of the keyed order."""

ROWS_THERE, STANDS = "rows_there", "stands"
"""Columns beside bounded rows, see `first_groups`."""


def first_rows(rows: exp.Select, units: Known, words: Known, most: int, key: OrderKey, profile: Profile) -> exp.Select:
    """At most `most` rows of each unit, by `engines.order.row_rank`; `words` are all columns beside the unit's."""
    owners, kept = [name for name, _ in units], [name for name, _ in (*words, *units)]
    inner, carried = _with_digests(
        numbered(profile.gathered(rows, owners), kept), [*kept, "among"], [*units, *words], key, profile
    )
    state = start_tree([tree for name, known in (*units, *words) for tree in _words(name, known, profile)], key)
    placed, hashed = layers(inner, carried, state, [column("among")], key, profile)
    order: list[Tree] = [
        exp.Ordered(this=column(each)) for each in (hashed, *(_worded(*each) for each in words), "among")
    ]
    return first(placed, kept, owners, order, most, exp.RowNumber())


def _with_digests(
    inner: exp.Select, kept: list[str], known: Known, key: OrderKey, profile: Profile
) -> tuple[exp.Select, list[str]]:
    """`inner` with the number of each text that becomes words, and what it has now."""
    texts = [name for name, fact in known if fact.kind is Kind.STRING]
    if not texts:
        return inner, kept
    digests = [named(hashed_text(column(name), key, profile), f"{name}_text") for name in texts]
    return over([*map(column, kept), *digests], inner), [*kept, *(f"{name}_text" for name in texts)]


def numbered(rows: exp.Select, kept: list[str]) -> exp.Select:
    """Rows with their number among those that are alike in all they have."""
    alike = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column(name) for name in kept],
        order=exp.Order(expressions=[exp.Ordered(this=column(kept[0]))]),
    )
    among = binary(exp.BitwiseAnd, subtract(bigint(alike), number(1)), number(NUMBER_MASK))
    return over([*map(column, kept), named(among, "among")], rows)


def ranked(
    inner: exp.Select, kept: list[str], units: Known, words: Known, key: OrderKey, profile: Profile
) -> tuple[exp.Select, list[Tree]]:
    """`inner` with the keyed hash of its unit and these values; and what to sort by."""
    inner, carried = _with_digests(inner, kept, [*units, *words], key, profile)
    start = start_tree([tree for name, known in units for tree in _words(name, known, profile)], key)
    trees = [tree for name, known in words for tree in _words(name, known, profile)]
    if len(trees) > MOST_MIXED:
        inner = _folded(inner, carried, start, trees, key)
        placed, hashed = layers(inner, carried, column("fold"), [number(0)], key, profile)
    else:
        placed, hashed = layers(inner, carried, start, trees, key, profile)
    ties = [_worded(name, known) for name, known in words] if len(trees) > 1 else []
    return placed, [exp.Ordered(this=column(name)) for name in (hashed, *ties)]


def _folded(inner: exp.Select, kept: list[str], state: Tree, words: Sequence[Tree], key: OrderKey) -> exp.Select:
    """`inner` with `engines.order.folded` as a column, so many words in each layer."""
    for begin in range(0, len(words), MOST_MIXED):
        for index, word in enumerate(words[begin : begin + MOST_MIXED], begin):
            state = _masked(add(state, multiply(word, number(key.lane(index)))), MASK)
        inner, state = over([*map(column, kept), named(state, "fold")], inner), column("fold")
    return inner


def first(
    inner: exp.Select, kept: list[str], partition: list[str], order: list[Tree], most: int, rank: Tree
) -> exp.Select:
    """The first `most` of each partition. Written as `rank - 1 < most`: DuckDB turns `rank <= most` into a slow plan."""
    placed = exp.Window(
        this=rank, partition_by=[column(name) for name in partition], order=exp.Order(expressions=order)
    )
    places = over([*map(column, kept), named(subtract(placed, number(1)), "place")], inner)
    chosen = binary(exp.LT, column("place"), number(most))
    return over([*map(column, kept)], places).where(chosen, copy=False)


def first_groups(inner: exp.Select, kept: list[str], partition: list[str], order: list[Tree], most: int) -> exp.Select:
    """The rows of the first `most` groups of each partition; `order` is that of groups. Beside each row: how many its group has
    there (`ROWS_THERE`), and whether it is the one that stands for the group (`STANDS`): one row of a group does.
    """

    def placed(function: str, spec: exp.WindowSpec | None = None) -> Tree:
        return exp.Window(
            this=exp.Count(this=exp.Star()) if spec else exp.Anonymous(this=function),
            partition_by=[column(name) for name in partition],
            order=exp.Order(expressions=[each.copy() for each in order]),
            spec=spec,
        )

    alike = exp.WindowSpec(kind="RANGE", start="CURRENT ROW", end="CURRENT ROW")
    beside = [
        named(subtract(placed("DENSE_RANK"), number(1)), "place"),
        named(bigint(placed("COUNT", alike)), ROWS_THERE),
        named(subtract(placed("ROW_NUMBER"), placed("RANK")), STANDS),
    ]
    places = over([*map(column, kept), *beside], inner)
    chosen = binary(exp.LT, column("place"), number(most))
    stands = case([(binary(exp.EQ, column(STANDS), number(0)), number(1))], number(0))
    return over([*map(column, [*kept, ROWS_THERE]), named(stands, STANDS)], places).where(chosen, copy=False)


def _words(name: str, known: Facts, profile: Profile) -> list[Tree]:
    return word_trees(column(_worded(name, known)), known, profile)


def _worded(name: str, known: Facts) -> str:
    """The column a value's words are made of, and which sorts as they do."""
    return f"{name}_text" if known.kind is Kind.STRING else name


def word_trees(value: Tree, known: Facts, profile: Profile) -> list[Tree]:
    """The words of a value; the same numbers as `engines.order.words`."""
    match known.kind:
        case Kind.NUMBER:
            if single_word(known):
                return [_or(binary(exp.Sub, value, number(known.ends[0])), MASK, known)]
            high = _or(_masked(add(_shifted(value, 62), number(2)), 3), 4, known)
            low = _or(_masked(value.copy(), MASK), 0, known)
            return [high, _or(_masked(_shifted(value.copy(), 31), MASK), 0, known), low]
        case Kind.BOOLEAN:
            chosen = case([(value, number(1)), (exp.Not(this=value.copy()), number(0))], number(MASK))
            return [bigint(chosen)]
        case Kind.DATE:
            return [_or(binary(exp.Sub, profile.days(value), number(known.ends[0])), MASK, known)]
        case Kind.TIMESTAMP:
            past = binary(exp.Sub, profile.microseconds(value), number(known.ends[0]))
            return [_or(_shifted(past, 31), MASK, known), _or(_masked(past.copy(), MASK), 0, known)]
        case Kind.STRING:
            return [_or(_shifted(value, 30), MASK, known), _or(_masked(value.copy(), 2**30 - 1), 0, known)]


def hashed_text(value: Tree, key: OrderKey, profile: Profile) -> Tree:
    """A text's keyed 60-bit number: what `word_trees` takes for text, computed once in its own layer."""
    return profile.text_number(exp.DPipe(this=text(key.salt), expression=value))


def start_tree(words: Sequence[Tree], key: OrderKey) -> Tree:
    """Where a unit's order starts; the same as `engines.order.start`."""
    state = bigint(number(key.seed))
    for index, word in enumerate(words):
        state = _masked(add(state, multiply(word, number(key.lane(index)))), MASK)
    return state


def layers(
    inner: exp.Query, kept: list[str], state: Tree, words: Sequence[Tree], key: OrderKey, profile: Profile
) -> tuple[exp.Select, str]:
    """`inner` with the hash of (state, words of kept columns) as a further column; returns it and that column."""
    (a, b, c), (d, e, f) = key.multipliers, key.addends
    current: exp.Query = inner
    for index, word in enumerate(words):
        one, two = f"hash_{index}_a", f"hash_{index}_b"
        current = over([*map(column, kept), named(_linear(profile.xor(state, word), a, d), one)], current)
        turned = profile.xor(column(one), _shifted(column(one), 15))
        current = over([*map(column, kept), named(_linear(turned, b, e), two)], current)
        state = _linear(profile.xor(column(two), _shifted(column(two), 13)), c, f)
    return over([*map(column, kept), named(state, "hash")], current), "hash"


def _linear(state: Tree, factor: int, addend: int) -> Tree:
    return _masked(add(multiply(state, number(factor)), number(addend)), MASK)


def _masked(value: Tree, mask: int) -> Tree:
    return binary(exp.BitwiseAnd, value, number(mask))


def _shifted(value: Tree, bits: int) -> Tree:
    return binary(exp.BitwiseRightShift, value, number(bits))


def _or(value: Tree, otherwise: int, known: Facts) -> Tree:
    return exp.Coalesce(this=value, expressions=[number(otherwise)]) if known.nullable else value
