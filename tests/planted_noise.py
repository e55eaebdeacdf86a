"""Faults planted in every kind of noise at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest

from deniable.kernels import Noise


def plant(patch: pytest.MonkeyPatch, method: str, fault: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a method of every kind by a fault made of the right one."""
    for kind in get_args(Noise):
        patch.setattr(kind, method, fault(getattr(kind, method)))


def scaled(factor: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Noise whose scale is a part of what it should be."""
    return lambda right: lambda self, *given: right(replace(self, scale=self.scale / factor), *given)
