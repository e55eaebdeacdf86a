"""One snapshot or transaction at a time within a process, and none under way at the moment of a fork.

A database connection does not survive a fork, and the replayed state belongs to one thread at a time: every journal
holds this lock while it is open.
"""

from __future__ import annotations

import os
import threading

ONE_AT_A_TIME = threading.Lock()

if hasattr(os, "register_at_fork"):  # no connection is open at the moment of a fork, in either process
    os.register_at_fork(
        before=ONE_AT_A_TIME.acquire,
        after_in_parent=ONE_AT_A_TIME.release,
        after_in_child=ONE_AT_A_TIME.release,
    )
