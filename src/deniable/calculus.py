"""The calculus: every space, stable transformation, mechanism, combinator and compositor, each under its own name.

`dp.count()` is an aggregate of a private table; `dp.calculus.count()` is the stable transformation of the same name.
"""

from deniable import core, mechanisms, transformations
from deniable.core import *  # noqa: F403
from deniable.mechanisms import *  # noqa: F403
from deniable.transformations import *  # noqa: F403

__all__ = sorted({*core.__all__, *mechanisms.__all__, *transformations.__all__})
