"""Every word sequence up to a depth: kept by the auditor, used by tests under this name."""

from deniable.audit.words import Enumeration, enumerated

__all__ = ["Enumeration", "enumerated"]
