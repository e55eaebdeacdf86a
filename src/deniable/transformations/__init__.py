"""Stable transformations: every constructor states how far apart close inputs can drift."""

from deniable.lazy import lazy_package

lazy_package(__name__)
