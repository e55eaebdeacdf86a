"""For tests only: entropy stand-ins, and exact output laws by enumeration. Nothing in the product imports this package."""

from deniable.audit.words import Enumeration, enumerated
from deniable.testing.scripted_entropy import Exhausted, Scripted, Seeded, Silent

__all__ = ["Enumeration", "Exhausted", "Scripted", "Seeded", "Silent", "enumerated"]
