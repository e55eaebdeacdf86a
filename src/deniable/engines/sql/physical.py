"""What a source's columns are made of."""

from __future__ import annotations

from enum import Enum


class Physical(Enum):
    """What kind of column a source holds; from the source's schema, never from its cells."""

    TEXT = "text"
    INTEGER = "integer"
    WIDE = "wide integer"
    REAL = "real"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    OTHER = "other"
