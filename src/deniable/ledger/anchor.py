"""Anchors: the ledger's event count and head hash, kept in a second place.

The chain shows that an event was edited. It cannot show that the whole file was replaced by yesterday's copy, deleted, or
swapped for a fresh one; an anchor can, as long as it does not lie beside the file. An anchor only ever moves forward.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from deniable.errors import LedgerError


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a ledger had come: the hash of its event number `count`."""

    count: int
    head: str


class Anchor(Protocol):
    """A second place that remembers how far each ledger had come."""

    def last(self, ledger: str) -> Mark | None:
        """The furthest mark of a ledger, by its id."""
        ...

    def living_at(self, place: str) -> str | None:
        """The id of the ledger that was last opened at this place."""
        ...

    def settle(self, ledger: str, place: str) -> None:
        """Remember that this ledger lives at this place."""
        ...

    def advance(self, ledger: str, mark: Mark) -> None:
        """Remember a mark, durably, before returning; an older one than the last changes nothing."""
        ...


def state_folder() -> Path:
    """The user's folder for state: `XDG_STATE_HOME` if set, else what the system uses."""
    chosen = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(chosen):
        return Path(chosen) / "deniable"
    local = os.environ.get("LOCALAPPDATA", "")
    if sys.platform == "win32" and local:
        return Path(local) / "deniable"
    return Path.home() / ".local" / "state" / "deniable"


class FolderAnchor:
    """Marks as the names of empty files, one folder per ledger: making a file is atomic and needs no lock.

    The default folder is `anchors` in the user's state folder. Give a folder on another machine or under another account
    to be safe from whoever can write this user's files.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._folder = Path(folder).absolute() if folder is not None else state_folder() / "anchors"

    def last(self, ledger: str) -> Mark | None:
        """The mark with the highest count."""
        marks = self._marks(ledger)
        return max(marks, key=lambda mark: mark.count) if marks else None

    def living_at(self, place: str) -> str | None:
        """The id noted for this place."""
        names = sorted(self._listed(self._place(place)))
        return names[-1].partition("-")[2] if names else None

    def settle(self, ledger: str, place: str) -> None:
        """Note the ledger under the hash of its place."""
        if self.living_at(place) != ledger:
            folder = self._place(place)
            self._write(folder, f"{len(self._listed(folder)):08}-{ledger}")

    def advance(self, ledger: str, mark: Mark) -> None:
        """Write the new mark, then forget those it surpasses."""
        self._write(self._folder / ledger, f"{mark.count:012}-{mark.head}")
        for older in self._marks(ledger):
            if older.count < mark.count:
                (self._folder / ledger / f"{older.count:012}-{older.head}").unlink(missing_ok=True)

    def _place(self, place: str) -> Path:
        return self._folder / "places" / hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()

    def _marks(self, ledger: str) -> list[Mark]:
        return [
            Mark(int(name.partition("-")[0]), name.partition("-")[2]) for name in self._listed(self._folder / ledger)
        ]

    def _listed(self, folder: Path) -> list[str]:
        try:
            return [name for name in os.listdir(folder) if name.partition("-")[0].isdigit()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._unusable(error) from None

    def _write(self, folder: Path, name: str) -> None:
        try:
            fresh = [each for each in (folder, *folder.parents) if not each.exists()]
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / name).touch(mode=0o600)
            for each in (folder, *(made.parent for made in fresh)):
                _sync(each)
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> LedgerError:
        return LedgerError(
            f"the anchor folder {self._folder} cannot be used ({error.strerror}); set XDG_STATE_HOME, or give "
            "anchor=FolderAnchor(folder) or anchor=Unanchored()"
        )


class Unanchored:
    """No second place: a restored, deleted or swapped ledger file goes unnoticed. For rehearsals and tests."""

    def last(self, ledger: str) -> Mark | None:
        """Nothing is remembered."""
        return None

    def living_at(self, place: str) -> str | None:
        """Nothing is remembered."""
        return None

    def settle(self, ledger: str, place: str) -> None:
        """Nothing is remembered."""

    def advance(self, ledger: str, mark: Mark) -> None:
        """Nothing is remembered."""


def _sync(folder: Path) -> None:
    """Make a new file name durable; systems that cannot sync a folder do it on their own."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
