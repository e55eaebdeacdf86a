"""Every constructor of the calculus under its own name, also where the plain name belongs to a table aggregate.

`dp.count()` is an aggregate of a private table; `dp.calculus.count()` is the stable transformation of the same name.
"""

from deniable import mechanisms, transformations
from deniable.mechanisms import *  # noqa: F403
from deniable.transformations import *  # noqa: F403

__all__ = sorted({*mechanisms.__all__, *transformations.__all__})
