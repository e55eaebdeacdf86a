"""The calculus: every space, stable transformation, mechanism, combinator and compositor, each under its own name.

`dp.count()` is an aggregate of a private table; `dp.calculus.count()` is the stable transformation of the same name.
"""

from typing import TYPE_CHECKING, Any

from deniable import core, mechanisms, transformations
from deniable.lazy import no_public_name

if TYPE_CHECKING:
    from deniable.core import *  # noqa: F403
    from deniable.mechanisms import *  # noqa: F403
    from deniable.transformations import *  # noqa: F403
else:
    _ROOMS = {name: room for room in (core, mechanisms, transformations) for name in room.__all__}

    def __getattr__(name: str) -> Any:
        if name not in _ROOMS:
            raise no_public_name("deniable.calculus", name, __all__)
        return getattr(_ROOMS[name], name)

    def __dir__() -> list[str]:
        return __all__


__all__ = sorted({*core.__all__, *mechanisms.__all__, *transformations.__all__})
