"""The table of scalar functions; what is not in it is no function of the expression language."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from deniable.plan.functions.bins import BINS
from deniable.plan.functions.calendar import CALENDAR
from deniable.plan.functions.casts import CASTING
from deniable.plan.functions.numeric import NUMERIC
from deniable.plan.functions.scalar import ScalarFunction, Spelling
from deniable.plan.functions.several import SEVERAL
from deniable.plan.functions.textual import TEXTUAL

FUNCTIONS: tuple[type[ScalarFunction], ...] = (*SEVERAL, *NUMERIC, *BINS, *CALENDAR, *TEXTUAL, *CASTING)
"""Every row."""

SPELLINGS: tuple[Spelling, ...] = tuple(spelling for row in FUNCTIONS for spelling in row.spellings)

BY_NODE: dict[type[exp.Expression], Spelling] = {
    spelling.of: spelling for spelling in SPELLINGS if isinstance(spelling.of, type) and not spelling.types
}
"""How a node of the parser is read."""

BY_NAME: dict[str, Spelling] = {spelling.of: spelling for spelling in SPELLINGS if isinstance(spelling.of, str)}
"""How a function that the parser does not know is read."""

CASTS: dict[Any, Spelling] = {kind: spelling for spelling in SPELLINGS for kind in spelling.types}
"""How a CAST is read, by its target."""

PROBES: dict[str, str] = {name: probe for row in FUNCTIONS for name, probe in row.probes.items()}
"""The expressions that all engines must answer alike."""
