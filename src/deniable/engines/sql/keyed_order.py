"""The keyed order of `engines.order` as SQL, in layers that each name what the next one uses twice; and the first rows in it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from deniable.engines.order import HEX_DIGITS, MASK, OrderKey, single_word
from deniable.engines.sql.relations import named, over
from deniable.plan.facts import Facts, Kind
from deniable.plan.profile import Profile
from deniable.plan.sql_trees import Tree, add, bigint, binary, case, column, multiply, number, subtract, text

assert HEX_DIGITS == 15, "Profile.text_number takes 15 digits"


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


def word_column(name: str, known: Facts) -> str:
    """The column a value's words are made of, and which sorts as they do."""
    return f"{name}_text" if known.kind is Kind.STRING else name


def first_rows(
    inner: exp.Select, kept: list[str], partition: list[str], order: list[Tree], most: int, rank: Tree
) -> exp.Select:
    """The first `most` of each partition. Written as `rank - 1 < most`: DuckDB turns `rank <= most` into a slow plan."""
    placed = exp.Window(
        this=rank, partition_by=[column(name) for name in partition], order=exp.Order(expressions=order)
    )
    numbered = over([*map(column, kept), named(subtract(placed, number(1)), "place")], inner)
    chosen = binary(exp.LT, column("place"), number(most))
    return over([*map(column, kept)], numbered).where(chosen, copy=False)
