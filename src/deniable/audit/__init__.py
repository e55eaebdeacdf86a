"""The auditor: does a mechanism, a query, a model or somebody else's function keep the promise it makes?

`check` holds what answers against a cost record on neighbouring data sets and returns a `Verdict`: broken or not, the event that
broke it, and a lower bound on epsilon. An audit refutes; it never proves.
"""

from deniable.audit.check import check
from deniable.audit.events import Event
from deniable.audit.features import columns
from deniable.audit.verdict import SCHEMA, Replay, Verdict

__all__ = ["SCHEMA", "Event", "Replay", "Verdict", "check", "columns"]
