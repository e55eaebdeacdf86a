"""Spaces, stable transformations, private mechanisms, and the compositor that charges before it runs."""

from deniable.lazy import lazy_package

lazy_package(__name__)
