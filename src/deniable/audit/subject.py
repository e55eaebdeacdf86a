"""What is audited: a mechanism, a function of (data, entropy), or somebody else's function of data alone.

An error is an answer like any other. A function that takes no entropy is audited all the same and said to have a source of its own,
which could be seeded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.audit.answer_columns import Failure, whole
from deniable.audit.words import WordPath
from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidArgument
from deniable.exact.figures import counted
from deniable.noise import Entropy

OWN_SOURCE = "it takes no entropy: its random numbers come from a source of its own, which could be seeded"
OTHER_SOURCE = "it takes entropy and asked it nothing, or not for everything: its random numbers could be seeded"
ALL_SAME = (
    "every answer about a data set was the same: something that keeps its answers is judged as if it drew nothing"
)
ALL_ERRORS = "every answer was an error: nothing was audited but that"
_REPEATS, _WORDS = 40, 4096

_INPUTS: dict[str, Callable[[Any], Any]] = {
    "array": np.asarray,
    "list": list,
    "number": lambda data: data,
    "value": lambda data: data,
}
_OUTPUTS: dict[str, Callable[[Any], Any]] = {
    "number": lambda answer: answer.item() if isinstance(answer, np.ndarray) and answer.size == 1 else answer,
    "array": lambda answer: answer if isinstance(answer, np.ndarray) else np.asarray(answer),
    "value": lambda answer: answer,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that answers at random; `one` draws an answer, `many` a whole array of them where the subject can."""

    name: str
    one: Callable[[Any, Entropy], Any]
    many: Callable[[Any, int, Entropy], Any] | None
    mechanism: Mechanism | None
    notes: tuple[str, ...]

    def draws(self, data: Any, count: int, entropy: Entropy) -> Sequence[Any] | NDArray[Any]:
        """That many independent answers about `data`, errors included."""
        if self.many is not None:
            wanted = f"draws(data, {count}, entropy) of {self.name} must give {counted(count, 'answer')}"
            try:
                found: NDArray[Any] = self.many(data, count, entropy)
                size = len(found)
            except Exception as error:
                raise InvalidArgument(f"{wanted}, it gave {type(error).__name__}") from error
            if size != count:
                raise InvalidArgument(f"{wanted}, it gave {size}")
            return found
        return [self.answer(data, entropy) for _ in range(count)]

    def answer(self, data: Any, entropy: Entropy) -> Any:
        """One answer, or the error that came instead of it."""
        try:
            return self.one(data, entropy)
        except Exception as error:
            return Failure.of(error)

    def repeats_itself(self, data: Any, entropy: Entropy) -> bool:
        """Whether the same words always give the same answer: only then does the law of the draws tell the law of the answer."""
        for _ in range(_REPEATS):
            words = entropy.words(_WORDS).tolist()
            first, second = (whole(self.answer(data, WordPath(words))) for _ in range(2))
            if first != second:
                return False
        return True


def subject_of(target: Any, *, adapter: str | None = None, ask: Callable[[Any], Any] | None = None) -> Subject:
    """Read what was handed over; `adapter` says how somebody else's function takes data and what it answers."""
    before, after = (None, None) if adapter is None else adapted(adapter)
    mechanism = target if isinstance(target, Mechanism) else None
    function, notes = _function(target)
    changed = before is not None or ask is not None

    def one(data: Any, entropy: Entropy) -> Any:
        answer = function(data if before is None else before(data), entropy)
        answer = answer if after is None else after(answer)
        return answer if ask is None else ask(answer)

    many = getattr(target, "draws", None)
    return Subject(_name(target), one, many if callable(many) and not changed else None, mechanism, notes)


def adapted(adapter: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The two ends of `"array -> number"` and the like."""
    source, arrow, target = (part.strip() for part in adapter.partition("->"))
    if not arrow or source not in _INPUTS or target not in _OUTPUTS:
        raise InvalidArgument(
            f"adapter must be '<input> -> <output>' with inputs {', '.join(_INPUTS)} and outputs {', '.join(_OUTPUTS)}, "
            f"got {adapter!r}"
        )
    return _INPUTS[source], _OUTPUTS[target]


def _function(target: Any) -> tuple[Callable[[Any, Entropy], Any], tuple[str, ...]]:
    if isinstance(target, Mechanism):
        return target.function, ()
    if callable(getattr(target, "function", None)):
        return _function(target.function)
    if not callable(target):
        raise InvalidArgument(
            f"a mechanism, or a function of data (and entropy), can be audited; got a {type(target).__name__}"
        )
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):  # written in C: it says nothing of its arguments
        return lambda data, _: target(data), (OWN_SOURCE,)
    named = [each.name for each in parameters]
    if "entropy" in named and parameters[named.index("entropy")].kind is inspect.Parameter.KEYWORD_ONLY:
        return lambda data, entropy: target(data, entropy=entropy), ()
    needed = [each for each in parameters if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD]
    if "entropy" in named or len(needed) == 2:
        return lambda data, entropy: target(data, entropy), ()
    return lambda data, _: target(data), (OWN_SOURCE,)


def _name(target: Any) -> str:
    if isinstance(target, Mechanism):
        return target.recipe or "a mechanism"
    module, name = (
        getattr(target, "__module__", ""),
        getattr(target, "__qualname__", None) or getattr(target, "name", None),
    )
    return f"{module}:{name}" if module and name else str(name or type(target).__name__)
