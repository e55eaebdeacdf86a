"""Packages that load a part when it is first asked for, and nothing before.

The `__init__.pyi` of such a package says where each public name lives, as plain imports and `__all__`: type checkers and
editors read it, and so does `lazy_package`. There is one list, and a name cannot mean one thing here and another there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


class NamedModule(ModuleType):
    """A module that answers a name it does not have with the nearest one."""

    def __getattr__(self, name: str) -> Any:
        public = vars(self).get("__all__") or [each for each in vars(self) if not each.startswith("_")]
        raise no_public_name(self.__name__, name, public)


class LazyPackage(NamedModule):
    """A package whose public names come from their homes when they are first used."""

    _homes: dict[str, tuple[str, str]]
    __all__: list[str]

    def __getattr__(self, name: str) -> Any:
        if name not in self._homes:
            return super().__getattr__(name)
        module, attribute = self._homes[name]
        value = _value(module, attribute, package=self.__name__)
        ModuleType.__setattr__(self, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        """Importing the module `best_of` binds it to its package; the function `best_of` keeps that name."""
        hides = name in self._homes and isinstance(value, ModuleType) and value.__name__ != ".".join(self._homes[name])
        if not hides:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)


def lazy_package(name: str) -> None:
    """Make the package that is being loaded lazy, by the list in its `__init__.pyi`."""
    package = sys.modules[name]
    stub = Path(str(package.__file__)).with_name("__init__.pyi")
    homes, public = stub_names(stub.read_text(encoding="utf-8"))
    package.__dict__.update(_homes={each: homes[each] for each in public}, __all__=public)
    package.__class__ = LazyPackage


def no_public_name(module: str, name: str, public: Sequence[str]) -> AttributeError:
    """The error for a name that a module of ours does not have."""
    from difflib import get_close_matches  # only for a name that is not there

    near = [] if name.startswith("_") else get_close_matches(name, public, n=1)
    advice = f"did you mean {module}.{near[0]}?" if near else f"dir({module}) lists them"
    return AttributeError(f"{module} has no public name {name!r}; {advice}", name=name)


def named_module(name: str) -> None:
    """Make the module that is being loaded answer names it does not have."""
    sys.modules[name].__class__ = NamedModule


def stub_names(text: str) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Where each imported name lives, as a module and a name in it, and the names that are public."""
    homes: dict[str, tuple[str, str]] = {}
    public: list[str] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            homes |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            public = ast.literal_eval(node.value)
    return homes, public


def _value(module: str, attribute: str, *, package: str) -> Any:
    """A name of a module; or a module, which is a name of the package it is in."""
    if module != package:
        home = import_module(module)
        if hasattr(home, attribute):
            return getattr(home, attribute)
    return import_module(f"{module}.{attribute}")
