"""Mechanisms: random answers with a proved cost, and the plain array functions they are made of.

Steps (`laplace(scale=...)`) are built on a space with `>>`. Beneath them, `laws`, `selection`, `choice` and `quantile` work
on whole-numbered arrays and know nothing of spaces.
"""

from deniable.lazy import lazy_package

lazy_package(__name__)
