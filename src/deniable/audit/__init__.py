"""The auditor: does a mechanism, a query, a model or somebody else's function keep the promise it makes?

`check` holds what answers against a cost record on neighbouring data sets and returns a `Verdict`: broken or not, the event that
broke it, and a lower bound on epsilon. An audit refutes; it never proves.
"""

from deniable.audit.answer_columns import columns
from deniable.audit.answer_events import AnswerEvent
from deniable.audit.auditor import check, event_counts
from deniable.audit.clopper_pearson import lower_bound, upper_bound
from deniable.audit.faults import PLANTED, Fault
from deniable.audit.long_run import long_run
from deniable.audit.neighbour_search import small_neighbours
from deniable.audit.recorder import Divergence, Recorder, ReplayReport, replay
from deniable.audit.self_audit import SELF_SCHEMA, SelfReport, self_audit
from deniable.audit.session_questions import SmallTables, small_tables
from deniable.audit.timing import TimingReport, rank_correlation, timing
from deniable.audit.verdict import SCHEMA, EventReplay, Verdict
from deniable.lazy import named_module

named_module(__name__)

__all__ = [
    "PLANTED",
    "SCHEMA",
    "SELF_SCHEMA",
    "AnswerEvent",
    "Divergence",
    "EventReplay",
    "Fault",
    "Recorder",
    "ReplayReport",
    "SelfReport",
    "SmallTables",
    "TimingReport",
    "Verdict",
    "check",
    "columns",
    "event_counts",
    "long_run",
    "lower_bound",
    "rank_correlation",
    "replay",
    "self_audit",
    "small_neighbours",
    "small_tables",
    "timing",
    "upper_bound",
]
