"""Files that a program writes, made fresh for each of several runs. Nothing of the user's gets lost:

- What was there before is copied, into a hidden folder beside it, before the program first runs; each run
  finds it as it was, and so does the user at the end.
- Removed are files that were certainly not there before. Where that is not known, Failure says so.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from . import mpi
from .places import Failure

_FOLDER = ".unisono-compare-"
_OPEN_MOST = 200  # of the descriptors that a process may have
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Difference:
    file: Path
    said: str  # what differs
    offset: int | None  # the first byte that does; None where one file is missing
    reference: Path | None = None
    other: Path | None = None  # a copy of the file that differs
    there: bool = True  # after the run that is compared with the reference


class Before:
    """Which names folders had before."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._names: dict[Path, set[str]] = {}
        for folder in folders:
            with contextlib.suppress(OSError):
                self._names[folder.resolve()] = set(os.listdir(folder))

    def had(self, path: Path) -> bool | None:
        """None: nobody knows."""
        parent = path.parent
        if parent in self._names:
            return path.name in self._names[parent]
        # What lies in a folder that was not there was not there either.
        return False if parent != path and self.had(parent) is False else None


class FreshFiles:
    def __init__(self, patterns: Iterable[str], words: Iterable[str], progress: Callable[[str], None]) -> None:
        """`patterns` are files that the program writes; `words` its command line. Where no pattern is given, or one
        names nothing that is there yet (it may be misspelt), files named there are copied as well, as the program
        may write them."""
        self.patterns = list(patterns)
        self._progress = progress
        self._beside: dict[Path, Path] = {}  # hidden folders
        self._copies: dict[Path, Path] = {}  # of what was there before
        self._open = contextlib.ExitStack()  # some of these: they outlive a folder that the program removes
        self._outliving: dict[Path, Path] = {}
        self._states: dict[Path, tuple[int, ...]] = {}  # of these, before the first run
        self._new: set[Path] = set()
        self.missing: list[Path] = []  # written, and not there after the first run
        self._reference: dict[Path, tuple[str, Path]] | None = None  # digests, and files that were kept
        parents = [folder for pattern in self.patterns for folder in _folders_in(pattern)]
        self.before = Before([Path.cwd(), *_folders_of([*words, *parents])])
        self._originals = self._matches()
        if not self.patterns or not all(map(_matches, self.patterns)):
            self._originals |= set(_named_in(words))

    def set_aside(self) -> None:
        for path in sorted(self._originals):
            _refuse_leftovers(path)
            self._set_aside(path)

    def files(self) -> list[Path]:
        return sorted(self._new | set(self._copies))

    def compared(self) -> list[Path]:
        """Those that were there after the run that others are compared with."""
        return sorted(self._reference or ())

    # ---- which files -------------------------------------------------------------------------------

    def find(self, written_names: Iterable[str], other_names: Iterable[str]) -> None:
        """After the first run, and its report: which files were written or otherwise made."""
        self._look_for_copies()
        others = {_as_file(name) for name in other_names}
        written = {_as_file(name) for name in written_names}
        written |= {path for path in others if self.before.had(path) is False}
        for path in sorted(set(self._copies) - written - self._matches()):
            if _state(path) == self._states[path]:
                self._copies.pop(path).unlink()  # only read
        self.missing = sorted(path for path in written if not path.exists())
        self._take_for_new(written)
        self._find_matches()
        for pattern in self.patterns:
            if not _matches(pattern):
                raise Failure(f"--file {pattern}: after the first run there is no such file", 1)

    def _matches(self) -> set[Path]:
        return {path for pattern in self.patterns for path in _matches(pattern)}

    def _find_matches(self) -> None:
        self._take_for_new(self._matches())

    def _take_for_new(self, paths: set[Path]) -> None:
        """Those that were not there before; Failure if one may have been, also through a link."""
        unknown = {path for path in paths - set(self._copies) - self._new if path.exists()}
        new = {path for path in unknown if self.before.had(path) is False}
        self._new |= new
        for path in sorted(unknown - new):
            raise Failure(f"the program writes {path}, which was there before the comparison began (or may have"
                          " been). It has done to it what it does in any run; nothing was removed. Say --file"
                          f" '{path}': then it is kept, and put back after each run; or remove it first", 1)  # fmt: skip

    # ---- before and after each run -----------------------------------------------------------------

    def make_fresh(self) -> None:
        self._look_for_copies()
        for path in self._new:
            path.unlink(missing_ok=True)
        self._remove_new_folders()
        for path in self._copies:
            self._restore(path)

    def _remove_new_folders(self) -> None:
        """Those of new files that were not there either, where nothing else is in them."""
        folders = {folder for path in self._new for folder in path.parents if self.before.had(folder) is False}
        for folder in sorted(folders, reverse=True):  # inner ones first
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _look_for_copies(self) -> None:
        """Of what was there before: a program may remove its folders."""
        for path, copy in self._copies.items():
            if not copy.exists():
                raise Failure(_removed(path), 1)

    def _restore(self, path: Path) -> None:
        if _state(path) == self._states[path]:
            return
        if path.is_symlink():
            path.unlink()  # the program put it there; what it leads to is not ours
        copy = self._copies[path]
        if not copy.exists():
            copy = self._outliving.get(path, copy)
            path.parent.mkdir(parents=True, exist_ok=True)
        _copy(copy, path)
        _make_durable(path)
        self._states[path] = _state(path)

    def compare(self) -> list[Difference]:
        """After a run: how the files differ from the reference, which the first call makes."""
        self._look_for_copies()
        self._find_matches()
        if self._reference is None:
            self._reference = {path: self._kept(path) for path in self.files() if path.exists()}
            return []
        differences = [_difference(path, self._reference.get(path)) for path in self.files()]
        return [difference for difference in differences if difference]

    def keep(self, difference: Difference, what: str) -> Difference:
        """Keeps the file that differs while others run."""
        if difference.offset is None:
            return difference
        kept = self._folder(difference.file) / f"{difference.file.name}.{what}"
        _copy(difference.file, kept)
        return replace(difference, other=kept)

    def _kept(self, path: Path) -> tuple[str, Path]:
        digest, kept = _digest(path), self._folder(path) / f"{path.name}.reference"
        if path in self._copies:
            _copy(path, kept)
        else:
            path.rename(kept)
        _make_durable(kept)  # else it would be written out during later runs
        return digest, kept

    # ---- copies ------------------------------------------------------------------------------------

    def _folder(self, path: Path) -> Path:
        """A hidden folder beside the file, or beside the outermost folder that the program has made for it."""
        if path.parent not in self._beside:
            there = next(folder for folder in path.parents if self.before.had(folder) is not False)
            try:
                self._beside[path.parent] = Path(tempfile.mkdtemp(prefix=_FOLDER, dir=there))
            except OSError as error:
                raise Failure(f"{path.parent}: cannot make a folder for copies of {path.name}: {error.strerror}. If the"
                              " program does not write that file, name with --file those that it writes and that are"
                              " there", 1) from error  # fmt: skip
        return self._beside[path.parent]

    def _set_aside(self, path: Path) -> None:
        self._progress(f"keeping a copy of {path}")
        copy = self._folder(path) / f"{path.name}.before"
        unfinished = copy.with_suffix(".unfinished")
        state = _state(path)
        _copy(path, unfinished)
        unfinished.rename(copy)
        self._copies[path], self._states[path] = copy, state
        if len(self._outliving) < _OPEN_MOST:
            file = self._open.enter_context(open(copy, "rb"))
            self._outliving[path] = Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")

    def end(self, keep: Iterable[Path] = ()) -> None:
        """All as it was before; of the hidden folders, the files `keep` stay, and copies of what could not be
        put back."""
        kept, problems = set(keep), []
        with contextlib.suppress(Failure):  # what a pattern names now is no file any more
            self._find_matches()
        for path in self._new:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                problems.append(f"{path} could not be removed: {error.strerror}")
        self._remove_new_folders()
        for path, copy in self._copies.items():
            try:
                self._restore(path)
            except (OSError, Failure) as error:
                kept.add(copy)
                said = f"{path} COULD NOT BE PUT BACK; what it was before is {copy}: {error}"
                problems.append(said if copy.exists() else f"{path} CANNOT BE PUT BACK: {_removed(path)}")
        self._open.close()
        self._clear(kept)
        if problems:
            raise Failure("; ".join(problems), 1)

    def _clear(self, kept: set[Path]) -> None:
        for folder in filter(Path.exists, self._beside.values()):
            for file in folder.iterdir():
                if file not in kept:
                    file.unlink()
            with contextlib.suppress(OSError):  # not empty
                folder.rmdir()


def _removed(path: Path) -> str:
    return (f"the program has removed {path.parent}, and in it the copy of what {path.name} was before. Give it a folder"
            " for its output that is not there yet")  # fmt: skip


def _as_file(name: str) -> Path:
    """A file as MPI programs name it, perhaps with the kind of file system before it."""
    kind = re.match(r"[a-z0-9_]+:", name)
    return Path(os.path.realpath(name[kind.end() :] if kind and not os.path.exists(name) else name))


def _matches(pattern: str) -> set[Path]:
    names = [pattern] if os.path.lexists(pattern) else glob.glob(pattern, recursive=True)
    paths = {Path(os.path.realpath(name)) for name in names}
    for path in paths:
        if path.exists() and not path.is_file():
            raise Failure(f"--file {pattern}: {path} is no file")
    return paths


def _parts(words: Iterable[str]) -> Iterable[str]:
    """Words, and what stands after a = in them."""
    for word in words:
        yield word
        if "=" in word:
            yield word.partition("=")[2]


def _folders_of(words: Iterable[str]) -> Iterable[Path]:
    for part in _parts(words):
        for folder in (part, os.path.dirname(part)):
            if os.path.isdir(folder):
                yield Path(folder)


def _folders_in(pattern: str) -> list[str]:
    """Where files may be that it names."""
    parent = os.path.dirname(pattern)
    return [parent, *glob.glob(parent, recursive=True)]


def _named_in(words: Iterable[str]) -> Iterable[Path]:
    """Files that a program with this command line might write."""
    for part in _parts(words):
        if os.path.isfile(part) and os.access(part, os.W_OK) and not _is_program(part):
            yield Path(os.path.realpath(part))


def _is_program(path: str) -> bool:
    if mpi.is_elf(path):
        return True
    try:
        with open(path, "rb") as file:
            return os.access(path, os.X_OK) and file.read(2) == b"#!"
    except OSError:
        return False


def _refuse_leftovers(path: Path) -> None:
    for copy in glob.glob(f"{glob.escape(str(path.parent))}/{_FOLDER}*/{glob.escape(path.name)}.before"):
        raise Failure(f"{path}: another comparison is running, or one was killed before it could put this file"
                      f" back; what it was before is {copy}: move it to where it was, or remove it", 1)  # fmt: skip


def _state(path: Path) -> tuple[int, ...]:
    try:
        now = path.stat()
    except OSError:
        return ()
    return now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns


def _copy(source: Path, target: Path) -> None:
    """With all that belongs to it, and into the file that is there, if one is."""
    done = subprocess.run(["cp", "--reflink=auto", "--preserve=all", "-T", "--", str(source), str(target)],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        raise Failure(f"cannot copy {source} to {target}: {done.stderr.strip()}", 1)


def _make_durable(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _difference(path: Path, reference: tuple[str, Path] | None) -> Difference | None:
    if reference is None and not path.exists():
        return None
    if reference is None or not path.exists():
        return Difference(path, f"{path} is there after some runs only", None, there=reference is None)
    digest, kept = reference
    if _digest(path) == digest:
        return None
    offset = first_difference(kept, path)
    return Difference(path, f"{path} differs from byte {offset:,} on", offset, kept)


def first_difference(one: Path, other: Path) -> int:
    """The offset of the first byte that differs; where one file is the other's beginning, its end."""
    at = 0
    with open(one, "rb") as left, open(other, "rb") as right:
        while True:
            ours, theirs = left.read(_CHUNK_BYTES), right.read(_CHUNK_BYTES)
            if ours != theirs:
                shorter = min(len(ours), len(theirs))
                differing = (i for i in range(shorter) if ours[i] != theirs[i])
                return at + next(differing, shorter)
            if not ours:
                return at
            at += len(ours)
