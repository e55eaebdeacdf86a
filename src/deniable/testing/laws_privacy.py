"""Two output laws against a cost: kept by the auditor, used by tests under this name."""

from deniable.audit.comparison import Finding, check_privacy, compare, hockey_stick
from deniable.audit.comparison import LawComparison as Verdict

__all__ = ["Finding", "Verdict", "check_privacy", "compare", "hockey_stick"]
