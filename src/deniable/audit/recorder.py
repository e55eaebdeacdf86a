"""Grey box: run a program on x, then on its neighbour with everything that was released frozen, and compare the two runs.

What a program released on x is handed to it again on x', so a private program must do the same on both: ask the same mechanisms of
the same spaces at the same prices in the same order, on inputs no further apart than it declared, and return the same. Whatever
differs was read from the data without being paid for. This needs no samples and finds what samples never will.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deniable.accounting import Budget
from deniable.audit.answer_columns import is_plain, whole, without_addresses
from deniable.audit.claims import claim_text, exceeds
from deniable.audit.neighbour_search import within
from deniable.audit.words import Tape
from deniable.core.compositor import Compositor, compositor, interactive
from deniable.core.distance import Distance, distance
from deniable.core.gate import Gate
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.step import Step
from deniable.core.transformation import Transformation
from deniable.cost import FREE, Cost, composed
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real
from deniable.noise import Entropy, system_entropy

_Length = Distance | Real | tuple[Real, Real, Real]
_RUNS = 40
"""Times each side is run before it is said that the two differ: chance makes that happen less than once in 4**40 times."""


@dataclass(frozen=True, slots=True)
class Call:
    """One thing a program did: what, where, at which price, on which input, and what it got."""

    kind: str
    what: str
    function: str
    place: str
    cost: Cost
    space: Space | None = None
    value: Any = None
    limit: Distance | None = None
    output: Any = None


@dataclass(frozen=True, slots=True)
class Divergence:
    """Something the two runs do not agree on, with the function and the line of code it was seen at."""

    kind: str
    text: str
    function: str
    place: str

    def __str__(self) -> str:
        return f"{self.kind} in {self.function} ({self.place}): {self.text}"


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What replaying found. No divergence proves nothing about other neighbours."""

    divergences: tuple[Divergence, ...]
    calls: tuple[Call, ...]

    @property
    def broken(self) -> bool:
        """Whether the two runs disagree in anything."""
        return bool(self.divergences)

    def __str__(self) -> str:
        return "\n".join(map(str, self.divergences)) or f"both runs agree in all of {len(self.calls)} calls"


class _Diverged(Exception):
    """The second run asked something else: what follows cannot be compared."""


class _Unreplayable(Exception):
    """This program cannot be replayed: what it was answered, or how it moves, is no value that can be frozen."""


class Recorder:
    """What a program under replay asks instead of a mechanism, a transformation or a gate.

    `entropy` is for what the program draws itself: the same words in every run.
    """

    def __init__(self, frozen: Sequence[Call] | None, source: Entropy, entropy: Tape) -> None:
        self.frozen, self.source, self.entropy = frozen, source, entropy
        self.calls: list[Call] = []

    def release(self, mechanism: Mechanism, value: Any, *, d_in: _Length = 1) -> Any:
        """The mechanism's answer about `value`, which one unit is declared to move by at most `d_in`."""
        limit = distance(d_in)
        what = f"{mechanism.recipe or 'a mechanism'} on {mechanism.source.domain!r}"
        call = self._call("release", what, mechanism.privacy_map(limit), mechanism.source, value, limit)
        return self._answer(call, lambda: mechanism.function(value, self.source))

    def apply(self, transformation: Transformation, value: Any, *, d_in: _Length = 1) -> Any:
        """The transformed value; it stays private, and must move no further than the transformation's own map says."""
        limit, before = transformation.stability_map(distance(d_in)), self.entropy.read
        found = transformation.function(value, self.entropy)
        if self.entropy.read != before:
            raise _Unreplayable("a transformation that draws is not stable draw by draw; let the mechanism hold it")
        what = transformation.recipe or "a transformation"
        self._note(self._call("apply", what, FREE, transformation.target, found, limit))
        return found

    def charge(self, cost: Cost) -> None:
        """The program's own gate: every answer needs a charge before it."""
        self._note(self._call("charge", "a charge", cost))

    def compositor(
        self,
        data: Any,
        space: Space,
        *,
        budget: Budget | None = None,
        costs: Sequence[Cost] | None = None,
        d_in: _Length = 1,
    ) -> RecordingCompositor:
        """A compositor on the program's data whose answers are recorded, or frozen."""
        made = compositor(data, space, budget=budget, costs=costs, d_in=d_in)
        return RecordingCompositor(self, made)

    def _call(
        self, kind: str, what: str, cost: Cost, space: Space | None = None, value: Any = None, limit: Any = None
    ) -> Call:
        function, place = _caller()
        return Call(kind, without_addresses(what), function, place, cost, space, _as_it_was(value), limit)

    def _note(self, call: Call, output: Any = None) -> None:
        self.calls.append(replace(call, output=output))

    def _answer(self, call: Call, draw: Callable[[], Any], pay: Callable[[], object] = lambda: None) -> Any:
        """Drawn on the first run; on the second paid for and answered as the first was, as long as both ask the same."""
        if self.frozen is None:
            output = draw()
            if not is_plain(output):
                raise _Unreplayable(f"a {type(output).__name__} goes on answering: its answers cannot be frozen")
            self._note(call, copy.deepcopy(output))
            return output
        pay()
        position = len(self.calls)
        self._note(call)
        before = self.frozen[position] if position < len(self.frozen) else None
        if before is None or (before.kind, before.what) != (call.kind, call.what):
            raise _Diverged
        return copy.deepcopy(before.output)


class RecordingCompositor(Compositor):
    """A compositor that charges and answers as it always does, and tells the recorder; children do the same."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: Recorder, inner: Compositor) -> None:
        super().__init__(inner._data, inner.space, inner.gate, inner.d_in, recorder.source)
        self._recorder = recorder

    def release(self, mechanism: Mechanism | Step[Mechanism]) -> Any:
        """One answer, recorded, or the one recorded before."""
        if isinstance(mechanism, Step):
            mechanism = mechanism.build(self.space)
        price = mechanism.privacy_map(self.d_in) if isinstance(mechanism, Mechanism) else FREE
        name = getattr(mechanism, "recipe", None) or "a mechanism"
        call = self._recorder._call("release", f"{name} on {self.space.domain!r}", price)
        return self._recorder._answer(
            call, lambda: super(RecordingCompositor, self).release(mechanism), lambda: self.gate.charge(price)
        )

    def filter(self, budget: Budget, *, workload: Iterable[Cost] | None = None) -> Compositor:
        return RecordingCompositor(self._recorder, super().filter(budget, workload=workload))

    def odometer(self) -> Compositor:
        return RecordingCompositor(self._recorder, super().odometer())

    def planned(self, costs: Sequence[Cost]) -> Compositor:
        return RecordingCompositor(self._recorder, super().planned(costs))

    def batches(
        self, costs: Sequence[Cost], *, steps: int, rate: Real | None = None, size: int | None = None
    ) -> Iterator[Compositor]:
        for batch in super().batches(costs, steps=steps, rate=rate, size=size):
            yield RecordingCompositor(self._recorder, batch)


def replay(
    program: Mechanism | Callable[..., Any],
    *,
    neighbours: tuple[Any, Any],
    claim: Cost | None = None,
    entropy: Entropy | None = None,
) -> ReplayReport:
    """Run an interactive mechanism, or `program(data, recorder)`, on both neighbours and compare what it did.

    With a `claim`, everything it released together must cost no more. Guarantee: a program that reads private data through the
    recorder alone, on inputs that move no further than declared, is never said to diverge, but for less than once in 4**40 times
    where it draws from a source of its own; one that is seen to do so is refused.
    """
    source = entropy or system_entropy()
    tape = Tape(source)
    first = _run(program, neighbours[0], Recorder(None, source, tape))
    second = _run(program, neighbours[1], Recorder(first.calls, source, tape))
    if isinstance(program, Mechanism) and not first.calls and not second.calls:
        raise InvalidArgument(
            "this mechanism asks no compositor: there is nothing to replay; check it by its law or by draws"
        )
    found = _compared(program, first, second)
    if found:
        _check_steady(program, neighbours, first, source, tape)
    found += charges(first.calls)
    if claim is not None:
        found += over(first.calls, claim)
    return ReplayReport(tuple(found), tuple(first.calls))


@dataclass(frozen=True, slots=True)
class _Run:
    """What one run did and returned."""

    calls: tuple[Call, ...]
    result: str
    error: str | None

    @property
    def shape(self) -> Any:
        """All of it that two runs on the same data share."""
        return [(call.kind, call.what, call.place) for call in self.calls], self.result, self.error


def _compared(program: Any, first: _Run, second: _Run) -> list[Divergence]:
    found = [*_errors(first, second), *steps(first.calls, second.calls)]
    if not found and first.error is None and first.result != second.result:
        function, place = _end(program)
        text = (
            "the answers differ although everything that was released is the same: data was read without being paid for"
        )
        found.append(Divergence("uncharged read", text, function, place))
    return found


def _check_steady(program: Any, neighbours: tuple[Any, Any], first: _Run, source: Entropy, tape: Tape) -> None:
    """Each side must do the same every time, or the difference may be chance."""
    for data in neighbours:
        shapes = [_run(program, data, Recorder(first.calls, source, tape)).shape for _ in range(_RUNS)]
        if any(shape != shapes[0] for shape in shapes):
            raise InvalidArgument(
                "this program does not do the same twice on the same data and answers: let it draw from recorder.entropy alone"
            )


def _run(program: Any, data: Any, recorder: Recorder) -> _Run:
    recorder.entropy.rewind()
    result, error = "", None
    try:
        if isinstance(program, Mechanism):
            with _recorded(recorder):
                result = whole(program.function(data, recorder.entropy))
        else:
            result = whole(program(data, recorder))
    except _Diverged:
        pass
    except _Unreplayable as refusal:
        raise InvalidArgument(f"this program cannot be replayed: {refusal}") from None
    except Exception as raised:
        error = type(raised).__name__
    return _Run(tuple(recorder.calls), result, error)


@contextmanager
def _recorded(recorder: Recorder) -> Iterator[None]:
    """Interactive mechanisms hand out recording compositors for a while."""
    module: Any = sys.modules[interactive.__module__]
    real = module.Compositor

    def made(data: Any, space: Space, gate: Gate, d_in: Distance, entropy: Entropy | None = None) -> Compositor:
        return RecordingCompositor(recorder, real(data, space, gate, d_in, entropy))

    module.Compositor = made
    try:
        yield
    finally:
        module.Compositor = real


def _errors(first: _Run, second: _Run) -> list[Divergence]:
    error, other = first.error, second.error
    if error == other:
        return []
    last = first.calls[-1] if first.calls else None
    function, place = (last.function, last.place) if last else ("the program", "before its first call")
    return [
        Divergence(
            "error", f"{error or 'no error'} on one side and {other or 'no error'} on the other", function, place
        )
    ]


def _as_it_was(value: Any) -> Any:
    """An input as it was asked about, whatever the program does with it later."""
    try:
        return copy.deepcopy(value)
    except Exception:  # what cannot be copied is held as it is
        return value


def _caller() -> tuple[str, str]:
    """The function of the program, and its line, that asked."""
    frame = inspect.currentframe()
    while frame is not None and (
        frame.f_code.co_filename == __file__ or "core" in Path(frame.f_code.co_filename).parts[-2:]
    ):
        frame = frame.f_back
    if frame is None:
        return "?", "?"
    return frame.f_code.co_qualname, f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _end(program: Any) -> tuple[str, str]:
    code = getattr(program, "__code__", None) or getattr(getattr(program, "__func__", None), "__code__", None)
    if code is None:
        return "the program", "its return"
    return code.co_qualname, f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def steps(left: Sequence[Call], right: Sequence[Call]) -> list[Divergence]:
    """Call by call: the same thing, at the same place and price, on inputs no further apart than declared."""
    for before, after in zip(left, right, strict=False):
        if (before.kind, before.what, before.place) != (after.kind, after.what, after.place):
            kind = (
                "control flow" if before.place != after.place or before.kind != after.kind else "domain or parameters"
            )
            return [Divergence(kind, f"{before.what} became {after.what}", after.function, after.place)]
        if before.cost != after.cost or before.limit != after.limit:
            return [Divergence("declared cost", f"{before.cost!r} became {after.cost!r}", after.function, after.place)]
        if moved := _moved(before, after):
            return [Divergence("sensitivity", moved, after.function, after.place)]
    if len(left) == len(right):
        return []
    last = (left if len(left) > len(right) else right)[min(len(left), len(right))]
    return [
        Divergence(
            "number of calls", f"{len(left)} on one side and {len(right)} on the other", last.function, last.place
        )
    ]


def _moved(before: Call, after: Call) -> str:
    if before.space is None or before.limit is None:
        return ""
    if any(call.value not in before.space.domain for call in (before, after)):
        return f"an input of {before.what} is outside its declared domain"
    try:
        apart = before.space.metric.distance(before.value, after.value, before.space.domain)
    except (TypeError, ValueError, OverflowError):
        return f"the inputs of {before.what} have no distance: one of them is no number"
    return (
        ""
        if within(apart, before.limit)
        else f"the inputs of {before.what} are {apart} apart, declared were {before.limit}"
    )


def charges(calls: Sequence[Call]) -> list[Divergence]:
    """Where a program keeps a gate of its own, what was answered may at no time cost more than what was charged before."""
    if not any(call.kind == "charge" for call in calls):
        return []
    paid, answered = list[Cost](), list[Cost]()
    for call in calls:
        if call.kind == "charge":
            paid.append(call.cost)
        elif call.kind == "release":
            answered.append(call.cost)
            if exceeds(answered, paid):
                text = f"{call.what} was answered before it was charged"
                return [Divergence("charge", text, call.function, call.place)]
    return []


def over(calls: Sequence[Call], claim: Cost) -> list[Divergence]:
    released = [call for call in calls if call.kind == "release"]
    costs = [call.cost for call in released]
    if not released or not exceeds(costs, [claim]):
        return []
    text = f"what was released costs {claim_text(composed(costs))}, more than the claim {claim_text(claim)}"
    return [Divergence("declared cost", text, released[-1].function, released[-1].place)]
