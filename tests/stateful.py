"""Which classes of a package have state: found by reading their code, so that none is forgotten.

A class has state when one of its methods, other than its constructor, assigns to itself or to what it holds, or calls a
method that changes what it holds; when a base has; or when its constructor takes an object that has.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_CHANGES = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove", "setdefault",
    "update",
}  # fmt: skip
_CONSTRUCTORS = {"__init__", "__new__", "__post_init__"}


def stateful(root: Path, *, known: frozenset[str] = frozenset()) -> dict[str, str]:
    """The classes with state in a package, as module:Name, each with the reason; holders of `known` ones alone do not count."""
    classes = {name: node for path in sorted(root.rglob("*.py")) for name, node in _classes(path, root)}
    held = {name: {scope.get(each, "") for each in _names(node)} for name, (node, scope) in classes.items()}
    protocols = {name for name, (node, _) in classes.items() if _is_protocol(node)}
    found = {name: reason for name, (node, _) in classes.items() if (reason := _changed(node))}
    while True:
        guarded = set(found) - known
        keepers = [classes[each][0] for each in guarded]
        guarded |= {name for name in protocols if _promises(classes[name][0], keepers)}
        more = {
            name: f"holds or extends {sorted(seen)[0]}"
            for name in classes
            if name not in {*found, *protocols} and (seen := {each for each in guarded if _named(each, held[name])})
        }
        if not more:
            return found
        found |= more


def _classes(path: Path, root: Path) -> Iterator[tuple[str, tuple[ast.ClassDef, dict[str, str]]]]:
    """Every class of a module, with what the names in it stand for."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = ".".join([root.name, *path.relative_to(root).with_suffix("").parts])
    scope = {
        alias.asname or alias.name: f"{node.module}:{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    scope |= {node.name: f"{module}:{node.name}" for node in nodes}
    return ((f"{module}:{node.name}", (node, scope)) for node in nodes)


def _named(full: str, names: set[str]) -> bool:
    """Whether one of these names is this class, perhaps imported from a package above its module."""
    module, _, name = full.partition(":")
    places = {each.partition(":")[0] for each in names if each.endswith(f":{name}")}
    return any(module == place or module.startswith(f"{place}.") for place in places)


def _methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [each for each in node.body if isinstance(each, ast.FunctionDef)]


def _changed(node: ast.ClassDef) -> str:
    for method in _methods(node):
        if method.name not in _CONSTRUCTORS and any(_changes(each) for each in ast.walk(method)):
            return f"{method.name} changes it"
    return ""


def _changes(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return any(_own(each) for target in targets for each in getattr(target, "elts", [target]))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return _own(target)
        case ast.Call(func=ast.Attribute(value=value, attr=attr)):
            return attr in _CHANGES and _own(value)
    return False


def _own(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return True
        node = node.value
    return False


def _names(node: ast.ClassDef) -> set[str]:
    """The classes it extends, and those its constructor takes or its fields are declared to be."""
    hints: list[ast.AST] = [*node.bases, *(each.annotation for each in node.body if isinstance(each, ast.AnnAssign))]
    for method in _methods(node):
        if method.name in _CONSTRUCTORS:
            arguments = [*method.args.args, *method.args.kwonlyargs]
            hints += [each.annotation for each in arguments if each.annotation is not None]
    return {each.id for hint in hints for each in ast.walk(hint) if isinstance(each, ast.Name)}


def _is_protocol(node: ast.ClassDef) -> bool:
    return any("Protocol" in ast.dump(base) for base in node.bases)


def _promises(node: ast.ClassDef, kept_by: list[ast.ClassDef]) -> bool:
    """A protocol that one of these classes keeps: whoever takes it may be holding that class."""
    wanted = {method.name for method in _methods(node)}
    return any(wanted and wanted <= {each.name for each in _methods(other)} for other in kept_by)
