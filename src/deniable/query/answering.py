"""The columns of an answer, with their intervals, from what was drawn: post-processing only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from deniable.query.aggregates import Output
from deniable.query.aggregates.aggregate import SliceAnswer
from deniable.query.columns import AnswerColumn
from deniable.query.compile import CompiledQuery
from deniable.query.drawing import DrawnSlice
from deniable.query.price import Price, slice_error
from deniable.query.totals import fit_totals


def answer_columns(compiled: CompiledQuery, parts: tuple[DrawnSlice, ...], price: Price) -> tuple[AnswerColumn, ...]:
    """Every output of the query, over the groups of all slices."""
    fitted = fit_totals(compiled, parts)
    columns = []
    for name, output in compiled.outputs:
        error, beta = str(price.errors[name]), price.betas[name]
        pieces = [_piece(compiled, name, output, each, beta, error) for each in fitted]
        pairs = zip(fitted, parts, pieces, strict=True)
        raw = [piece if new is old else _piece(compiled, name, output, old, beta, error) for new, old, piece in pairs]
        columns.append(_with_details(_together(pieces, raw), compiled, output, parts, price, beta))
    return tuple(columns)


def _piece(
    compiled: CompiledQuery, name: str, output: Output, drawn: DrawnSlice, beta: Fraction, error: str
) -> AnswerColumn:
    if compiled.has_value(output, drawn.part):
        return output.answer(name, SliceAnswer(len(drawn.groups), drawn.columns, drawn.choices, beta), error)
    nothing = (None,) * len(drawn.groups)
    return AnswerColumn(name, "", nothing, nothing, nothing, error)


def _with_details(
    column: AnswerColumn,
    compiled: CompiledQuery,
    output: Output,
    parts: Sequence[DrawnSlice],
    price: Price,
    beta: Fraction,
) -> AnswerColumn:
    """The column with what a private choice says in place of an interval, slice by slice, and the names of its bins."""
    if output.chosen is None:
        return replace(column, bins=output.bin_names)
    errors = [
        slice_error(output, compiled, price.allocation, each.part, beta=beta, group_size=price.group_size).within
        if compiled.has_value(output, each.part)
        else None
        for each in parts
    ]
    off = tuple(error for error, each in zip(errors, parts, strict=True) for _ in each.groups)
    return replace(column, off=off, unit=output.unit, bins=output.bin_names)


def _together(pieces: Sequence[AnswerColumn], raw: Sequence[AnswerColumn]) -> AnswerColumn:
    first = pieces[0]
    if len(pieces) == 1 and first.values == raw[0].values:
        return first
    values = _joined([piece.values for piece in pieces])
    measured = _joined([piece.values for piece in raw])
    lower, upper = first.lower, first.upper
    if lower is not None:
        lower, upper = (_joined([getattr(piece, end) for piece in pieces]) for end in ("lower", "upper"))
    kept = None if values == measured else measured
    edges = next((piece.edges for piece in pieces if piece.edges is not None), None)
    return AnswerColumn(first.name, first.kind, values, lower, upper, first.error, measured=kept, edges=edges)


def _joined(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(value for part in parts for value in part)
