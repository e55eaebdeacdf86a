"""A folder for private files: only this user can read it, and it is removed when it is closed or forgotten."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path


class PrivateFolder:
    """A new folder; a forked process leaves its parent's alone."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="deniable-"))
        self._remove = weakref.finalize(self, _removed, self.path, os.getpid())

    def close(self) -> None:
        """Remove it with everything in it."""
        self._remove()


def _removed(folder: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
