"""Which files were put under which ledgers: so that a curator learns that one file has two budgets, or that a file holds other
rows than its ledger has answered from, and nobody else does.

Two budgets for one file add up for the people in it, though each ledger is sound by itself. When a data set made of files is
opened under a durable ledger, a keyed hash of every file is noted in the curator's state folder, next to the secret key it was
made with. Nothing about it is shown to whoever opened the data set, whether the file is known or not; `copies`, `replacements` and
the command `deniable ledger copies` tell the curator. Only files with equal bytes are recognised.

Guarantee: what is noted is a keyed hash; without the key, which never leaves the folder, it tells nothing about a file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deniable.ledger.anchor import state_folder
from deniable.noise.entropy import system_entropy

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Copy:
    """One content that was put under several ledgers: (data set, ledger) of each."""

    content: str
    held: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        places = "; ".join(f"{dataset} under {ledger}" for dataset, ledger in self.held)
        return f"the same file has {len(self.held)} budgets: {places}"


@dataclass(frozen=True, slots=True)
class Replacement:
    """A file that had several contents under one version of a ledger's data."""

    file: str
    ledger: str
    contents: int

    def __str__(self) -> str:
        return (
            f"{self.file} had {self.contents} contents under {self.ledger}: answers paid for before are shown for new rows too, "
            "until `deniable ledger new-version` says that the data is new"
        )


class Registry:
    """The curator's notes, in a folder only the curator can read; by default `registry` in the user's state folder."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._folder = Path(folder).absolute() if folder is not None else state_folder() / "registry"

    def note(self, files: Iterable[Path], *, dataset: str, ledger: str, place: str, version: int) -> None:
        """Note files under a version of a ledger (by its id). A folder or file that cannot be used is passed over: it must not
        be seen."""
        with suppress(OSError):
            for path in files:
                content = self._folder / self._content(path)
                content.mkdir(parents=True, exist_ok=True, mode=0o700)
                _replaced(content / f"{ledger}.json", json.dumps([dataset, place, str(path.resolve()), version]))

    def copies(self) -> tuple[Copy, ...]:
        """Every content that lies under more than one ledger."""
        held: dict[str, list[tuple[str, str]]] = {}
        for content, _, (dataset, place, *_) in self._notes():
            held.setdefault(content, []).append((dataset, place))
        return tuple(Copy(content[:12], tuple(sorted(of))) for content, of in held.items() if len(of) > 1)

    def replacements(self) -> tuple[Replacement, ...]:
        """Every file that had several contents under one version of a ledger's data."""
        held = Counter((*where, ledger, place) for _, ledger, (_, place, *where) in self._notes() if where)
        return tuple(
            Replacement(file, place, count) for (file, _, _, place), count in sorted(held.items()) if count > 1
        )

    def _notes(self) -> list[tuple[str, str, list[Any]]]:
        """Content, ledger and what was noted of them; notes of earlier versions of this package name no file."""
        found = []
        with suppress(OSError):
            for content in sorted(path for path in self._folder.iterdir() if path.is_dir() and path.name != "seen"):
                for note in sorted(content.glob("*.json")):
                    found.append((content.name, note.stem, json.loads(note.read_text(encoding="utf-8"))))
        return found

    def _content(self, path: Path) -> str:
        """The keyed hash of a file; one that has not changed since is not read again."""
        key, stat = self._key(), path.stat()
        state = f"{path.resolve()}\n{stat.st_size}\n{stat.st_mtime_ns}\n{stat.st_ino}"
        seen = self._folder / "seen" / hashlib.blake2b(state.encode(errors="surrogateescape"), key=key).hexdigest()[:64]
        if seen.exists():
            return seen.read_text(encoding="ascii")
        digest = hashlib.blake2b(key=key, digest_size=32)
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        seen.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _replaced(seen, digest.hexdigest())
        return digest.hexdigest()

    def _key(self) -> bytes:
        """The curator's secret, made once."""
        path = self._folder / "key"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = path.with_name(f"key-{os.getpid()}-{system_entropy().bits(64):x}")
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(system_entropy().bits(256).to_bytes(32, "big"))
            with suppress(FileExistsError):
                os.link(fresh, path)  # whoever is first wins, and all read the same key
            fresh.unlink()
        return path.read_bytes()


def _replaced(path: Path, text: str) -> None:
    """Write a small file at once, or not at all."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}-{system_entropy().bits(64):x}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)
