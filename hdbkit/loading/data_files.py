"""A population in files: written by several processes, chunk by chunk, and read again by the loaders of a build.

A folder has ``population.json`` (the specification, the format, the number of chunks), a file of each table and
chunk, and, once a chunk is complete, ``chunk-<number>.json``: where the rows of each part are. A chunk without this
note is written again, so an interrupted command continues where it was.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from hdbkit.config import WorkloadSpec, spec_from
from hdbkit.config.model import has_mark
from hdbkit.contracts import PartLoad, StatementLoad, TableLoad, Workload
from hdbkit.errors import InputError
from hdbkit.files import draft_of, read_bytes, replace_file
from hdbkit.processes import die_with_parent
from hdbkit.workloads import workload

if TYPE_CHECKING:
    from hdbkit.loading.formats import Writer

_HEAD: Final = "population.json"
_VERSION: Final = 1
Progress = Callable[[int, int, int], None]
"""Called with the chunks that are complete, their number, and the rows written so far."""
_OF_FILES: Final = ("version", "format", "chunks")


class Format(StrEnum):
    """The format of data files, which is also the end of their names."""

    TEXT = "text"
    CSV = "csv"
    PARQUET = "parquet"
    BCP = "bcp"


@dataclass(frozen=True)
class Extent:
    """Where the rows of a part are in a file: bytes, or of Parquet row groups."""

    first: int
    count: int
    rows: int


@dataclass(frozen=True)
class WrittenData:
    """What is in a folder: its chunks, and the rows and bytes of those that were written now."""

    folder: Path
    chunks: tuple[int, ...]
    kept: int
    """How many of them an earlier command had written."""
    rows: int
    size_bytes: int


@dataclass(frozen=True)
class DataFiles:
    """A folder with a population in files. Raises ``InputError`` where it is none, or is incomplete."""

    folder: Path

    @cached_property
    def head(self) -> dict[str, Any]:
        """The specification of the population, the format and the number of chunks."""
        return _read(self.folder / _HEAD)

    @property
    def spec(self) -> WorkloadSpec:
        """The specification that the population was made for."""
        return spec_from(self.head["workload"])

    def missing(self) -> list[int]:
        """The numbers of the chunks that are not complete, from 1."""
        return [one for one in range(1, int(self.head["chunks"]) + 1) if not self._note(one).is_file()]

    def require(self, spec: WorkloadSpec) -> None:
        """Raise ``InputError`` unless the files have the whole population of a specification."""
        self._require_same(_identity(self.spec), _identity(spec))
        if missing := self.missing():
            several = "s" if len(missing) > 1 else ""
            numbers = ", ".join(map(str, missing))
            raise InputError(
                f"the files in {self.folder} lack chunk{several} {numbers} of {self.head['chunks']}; "
                "repeat hdbkit datagen, which writes what is missing"
            )

    def require_written_as(self, head: dict[str, Any], spec: WorkloadSpec) -> None:
        """Raise ``InputError`` unless a head has the format, the chunks and the population of this folder."""
        this = {name: self.head.get(name) for name in _OF_FILES}
        self._require_same(this | _identity(self.spec), {name: head[name] for name in _OF_FILES} | _identity(spec))

    def _require_same(self, there: dict[str, Any], asked: dict[str, Any]) -> None:
        other = [f"{name} {there.get(name)}, not {one}" for name, one in asked.items() if there.get(name) != one]
        if other:
            raise InputError(f"the files in {self.folder} are of another population: {', '.join(other)}")

    def part(self, work: Workload, key: str) -> Iterator[PartLoad]:
        """What a part is loaded by; a part that the database makes itself is in no file."""
        if key not in self._extents:
            yield from work.part(key)
            return
        from hdbkit.loading.formats import rows_in  # it imports Arrow, which a build without files does not need

        form, (chunk, extents) = Format(self.head["format"]), self._extents[key]
        for name, extent in extents.items():
            path = self._path(name, chunk)
            yield TableLoad(work.tables[name], _readable(path, rows_in(path, work.tables[name], form, extent)))

    @property
    def keys(self) -> Collection[str]:
        """Those of the parts that are in complete chunks."""
        return self._extents.keys()

    @cached_property
    def _extents(self) -> dict[str, tuple[int, dict[str, Extent]]]:
        """By part: its chunk, and the extents of its rows by table."""
        found: dict[str, tuple[int, dict[str, Extent]]] = {}
        for number in range(1, int(self.head["chunks"]) + 1):
            for key, extents in _read(self._note(number))["parts"].items():
                found[key] = number, {name: Extent(**extent) for name, extent in extents.items()}
        return found

    def _note(self, chunk: int) -> Path:
        return self.folder / f"chunk-{chunk}.json"

    def _path(self, table: str, chunk: int) -> Path:
        return self.folder / f"{table}.{chunk}.{self.head['format']}"

    def remove_drafts(self, chunks: Iterable[int]) -> None:
        """Remove what a process that was ended left of chunks."""
        for number in chunks:
            for path in self.folder.glob(f".*.{number}.{self.head['format']}.*"):
                path.unlink(missing_ok=True)

    def write_chunk(self, number: int) -> tuple[int, int]:
        """Write the files of a chunk, then its note; return its rows and bytes. Raises ``OSError``."""
        from hdbkit.loading.formats import format_file, writer

        work, form = workload(self.spec), Format(self.head["format"])
        parts: dict[str, dict[str, Any]] = {}
        with ExitStack() as drafts:
            files: dict[str, Writer] = {}
            for part in _divided(self.spec, int(self.head["chunks"]))[number - 1]:
                extents = parts.setdefault(part, {})
                for load in work.part(part):
                    if isinstance(load, StatementLoad):
                        raise InputError(
                            f"part {part} is made by the database itself ({load.operation}) and is not in files"
                        )
                    name = load.table.name
                    if name not in files:
                        draft = drafts.enter_context(draft_of(self._path(name, number)))
                        files[name] = drafts.enter_context(writer(draft, load.table, form))
                        if form is Format.BCP:
                            replace_file(self.folder / f"{name}.fmt", format_file(load.table))
                    extents[name] = asdict(_append(files[name], load))
        sizes = [self._path(name, number).stat().st_size for name in files]
        rows = sum(extent["rows"] for extents in parts.values() for extent in extents.values())
        replace_file(self._note(number), _json({"parts": parts}))
        return rows, sum(sizes)


def write_population(
    spec: WorkloadSpec,
    folder: Path,
    form: Format = Format.CSV,
    chunks: int | None = None,
    only: Sequence[int] = (),
    processes: int = 2,
    progress: Progress | None = None,
) -> WrittenData:
    """Write a population to files with several processes, or what an earlier command left to do.

    Args:
        spec: the workload and its scale.
        folder: where the files are, created if missing.
        form: their format.
        chunks: the number of files of each table; None: one for each part of the population.
        only: the numbers of the chunks to write, from 1; by default all.
        processes: how many chunks are written at the same time.
        progress: called with the chunks that are complete, their number, and the rows written so far.

    Raises:
        InputError: the folder has another population, there are fewer parts than chunks, or a file cannot be written.
    """
    if not workload(spec).tables:
        raise InputError(f"hdbkit has no data of {workload(spec).title}")
    count = len(_divided(spec, chunks))
    if unknown := [one for one in only if not 1 <= one <= count]:
        raise InputError(f"there is no chunk {unknown[0]}; there are {count}, from 1")
    content = spec.model_dump(mode="json", exclude={"storage"})
    head = {"version": _VERSION, "workload": content, "format": form.value, "chunks": count}
    found = _begin(folder, head | {"note": workload(spec).notice}, spec)
    wanted = tuple(only) or tuple(range(1, count + 1))
    missing = [one for one in found.missing() if one in wanted]
    kept, rows, size_bytes = len(wanted) - len(missing), 0, 0
    try:
        for done, (more_rows, more_bytes) in enumerate(_written(found, missing, processes), kept + 1):
            rows, size_bytes = rows + more_rows, size_bytes + more_bytes
            if progress:
                progress(done, len(wanted), rows)
    except (OSError, EOFError) as error:
        ended = isinstance(error, EOFError | ConnectionError)
        reason = "a process ended unexpectedly" if ended else getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"the files in {folder} cannot be written: {reason}; complete chunks are kept, the same command continues"
        ) from None
    return WrittenData(folder, wanted, kept, rows, size_bytes)


def _written(found: DataFiles, chunks: Sequence[int], processes: int) -> Iterator[tuple[int, int]]:
    """Rows and bytes of each chunk, as processes complete them; they end with this one, and leave no drafts.

    Raises ``OSError`` or ``InputError`` of a process; ``EOFError`` or ``ConnectionError`` if one ended unexpectedly.
    """
    context, waiting = multiprocessing.get_context("spawn"), iter(chunks)
    busy: dict[Connection, SpawnProcess] = {}
    try:
        for number in islice(waiting, processes):
            ours, theirs = context.Pipe()
            busy[ours] = context.Process(target=_work, args=(found, theirs, os.getpid()), daemon=True)
            busy[ours].start()
            theirs.close()
            ours.send(number)
        while busy:
            for pipe in cast("list[Connection]", wait(list(busy))):
                done = pipe.recv()
                if isinstance(done, Exception):
                    raise done
                yield done
                following = next(waiting, None)
                if following is not None:
                    pipe.send(following)
                    continue
                pipe.close()
                busy.pop(pipe).join()
    finally:
        for process in busy.values():
            process.terminate()
            process.join()
        found.remove_drafts(chunks)


def _work(found: DataFiles, pipe: Connection, parent: int) -> None:
    """Write the chunks that are asked for, in a process of its own; whoever started it ends it, not Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent(parent)
    with suppress(EOFError, ConnectionError):
        while True:
            number = pipe.recv()
            try:
                pipe.send(found.write_chunk(number))
            except (InputError, OSError) as error:
                pipe.send(error)


def _begin(folder: Path, head: dict[str, Any], spec: WorkloadSpec) -> DataFiles:
    """The folder with its head; raises ``InputError`` if there is another one, or other files."""
    path, found = folder / _HEAD, DataFiles(folder)
    if path.is_file():
        found.require_written_as(head, spec)
        return found
    try:
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"{folder} is not empty and has no data of hdbkit; choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, _json(head))
    except OSError as error:
        raise InputError(f"{folder} cannot be used: {error.strerror}") from None
    return found


def _divided(spec: WorkloadSpec, chunks: int | None) -> list[list[str]]:
    """The parts of each chunk, alike in number. Raises ``InputError`` if there are fewer parts than chunks."""
    keys = [part.key for part in workload(spec).parts_for(chunks or 1)]
    chunks = len(keys) if chunks is None else chunks
    if not 1 <= chunks <= len(keys):
        raise InputError(f"this population has {len(keys)} parts, so chunks must be 1 to {len(keys)}, not {chunks}")
    return [keys[number * len(keys) // chunks : (number + 1) * len(keys) // chunks] for number in range(chunks)]


def _append(file: Writer, load: TableLoad) -> Extent:
    first, rows = file.end, 0
    for chunk in load.chunks:
        file.write(chunk)
        rows += chunk.count(b"\n")
    return Extent(first, file.end - first, rows)


def _readable(path: Path, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks; what keeps a file from being read is an ``InputError``."""
    try:
        yield from chunks
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _identity(spec: WorkloadSpec) -> dict[str, Any]:
    """What decides the rows: its fields without the storage, the indexes, and the folder that it was read from."""
    fields = type(spec).model_fields.items()
    others = {name for name, field in fields if has_mark(field, "named") or has_mark(field, "after_load")}
    return spec.model_dump(mode="json", exclude={"storage", *others})


def _json(content: dict[str, Any]) -> bytes:
    return f"{json.dumps(content, indent=1)}\n".encode()


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        content = json.loads(read_bytes(path))
        if isinstance(content, dict):
            return content
    raise InputError(f"{path} cannot be read, so {path.parent} is no folder of hdbkit datagen")
