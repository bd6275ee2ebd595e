"""A population in files: the same rows in each format, complete or refused, and loaded again by a build."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from hdbkit import api
from hdbkit.config import Target
from hdbkit.contracts import Table
from hdbkit.errors import InputError
from hdbkit.loading import DataFiles, Format, data_files
from hdbkit.loading.data_files import Extent
from hdbkit.loading.formats import format_file, rows_in, writer
from hdbkit.workloads import specification
from tests.architecture.source_tree import ROOT

TPCB = ROOT / "params" / "workloads" / "tpcb-like"
HARD = Table(
    "hard", ("id", "amount", "note", "at", "day"), ("id",), ("integer", "decimal", "text", "timestamp", "date")
)
ROWS = (
    b"1\t12.3400\ta \\t tab, a \\n line and a \\\\ backslash\t2026-01-02 03:04:05\t2026-01-02\n"
    b"2\t-0.0100\t\"quoted\", 'so'\t\\N\t\\N\n"
    b"3\t0.0000\t\t2026-01-02 00:00:00\t1992-02-29\n"
    b"\\N\t\\N\t\\N\t\\N\t\\N\n",
    b'4\t5.0000\t\\\\N is no null, " is one quote\t2026-01-02 00:00:00\t2026-12-31\n',
)


@pytest.mark.parametrize("form", [one for one in Format if one is not Format.BCP])
def test_every_value_survives_a_format(form: Format, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with writer(path, HARD, form) as file:
        file.write(ROWS[0])
        first = file.end
        file.write(ROWS[1])
        end = file.end
    for expected, extent in zip(ROWS, (Extent(0, first, 4), Extent(first, end - first, 1)), strict=True):
        assert b"".join(rows_in(path, HARD, form, extent)) == expected


def test_a_file_for_bcp_has_nulls_and_empty_texts_but_no_escapes(tmp_path: Path) -> None:
    chunk = rb"1	1.5000	a \\ b	\N	\N".replace(rb"\t", b"\t") + b"\n2\t0.0000\t\t\\N\t\\N\n"
    with writer(tmp_path / "file", HARD, Format.BCP) as file:
        file.write(chunk)
        with pytest.raises(InputError, match="rows of hard have a tab or line end in a text"):
            file.write(ROWS[0])
    assert (tmp_path / "file").read_bytes() == b"1\t1.5000\ta \\ b\t\t\n2\t0.0000\t\0\t\t\n"
    extent = Extent(0, (tmp_path / "file").stat().st_size, 2)
    assert b"".join(rows_in(tmp_path / "file", HARD, Format.BCP, extent)) == chunk
    assert format_file(HARD).decode().split("\n")[1:4] == [
        "5", '1 SQLCHAR 0 8000 "\\t" 1 id ""', '2 SQLCHAR 0 8000 "\\t" 2 amount ""'
    ]  # fmt: skip


def test_rows_are_whole_however_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hdbkit.loading.formats._CHUNK_BYTES", 16)
    for form in (Format.TEXT, Format.CSV):
        with writer(tmp_path / form, HARD, form) as file:
            file.write(ROWS[0])
            extent = Extent(0, file.end, 4)
        chunks = list(rows_in(tmp_path / form, HARD, form, extent))
        assert len(chunks) > 1
        assert all(one.endswith(b"\n") and not one.endswith(b"\\\n") for one in chunks)
        assert b"".join(chunks) == ROWS[0]


def test_other_tools_read_csv_and_parquet(tmp_path: Path) -> None:
    for form, read in (
        (Format.CSV, "read_csv('{}', header = false, allow_quoted_nulls = false)"),
        (Format.PARQUET, "'{}'"),
    ):
        path = tmp_path / f"file.{form}"
        with writer(path, HARD, form) as file:
            file.write(ROWS[0])
        text = f"SELECT count(*), sum(#2), count(#3), min(length(#3)), max(#4) FROM {read.format(path)}"
        (row,) = duckdb.sql(text).fetchall()
        assert (row[0], float(row[1]), row[2], row[3], str(row[4])) == (4, 12.33, 3, 0, "2026-01-02 03:04:05")


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A population of three parts in two chunks."""
    folder = tmp_path_factory.mktemp("data") / "accounts"
    written = api.datagen(TPCB, folder, chunks=2, processes=1)
    assert (written.rows, written.chunks, written.kept) == (100_011, (1, 2), 0)
    return folder


@pytest.fixture
def copied(accounts: Path, tmp_path: Path) -> Iterator[Path]:
    yield shutil.copytree(accounts, tmp_path / "copy")


def test_a_build_loads_the_files_and_takes_its_workload_from_them(accounts: Path, tmp_path: Path) -> None:
    target = Target(kind="duckdb", database=str(tmp_path / "data"))
    done = api.connect(target).build(from_files=accounts)
    assert done.passed
    assert done.rows == 100_011


def test_what_was_interrupted_continues_and_complete_chunks_are_kept(copied: Path) -> None:
    (copied / "chunk-2.json").unlink()
    before = (copied / "chunk-1.json").stat().st_mtime_ns
    with pytest.raises(InputError, match=r"lack chunk 2 of 2; repeat hdbkit datagen"):
        DataFiles(copied).require(specification(TPCB))
    again = api.datagen(TPCB, copied, chunks=2)
    assert (again.kept, again.rows) == (1, 100_010)
    assert (copied / "chunk-1.json").stat().st_mtime_ns == before
    assert not [one.name for one in copied.iterdir() if one.name.startswith(".")]


def ended(*_: object) -> None:
    """A process that the kernel ends."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.long
def test_what_a_killed_process_left_is_removed(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (copied / "chunk-2.json").unlink()
    left, others = copied / ".pgbench_accounts.2.csv.123", copied / ".pgbench_accounts.1.csv.123"
    for path in (left, others):
        path.write_text("1,2")
    with monkeypatch.context() as patch:
        patch.setattr(data_files, "_work", ended)
        with pytest.raises(
            InputError, match="cannot be written: a process ended unexpectedly; complete chunks are k"
        ):
            api.datagen(TPCB, copied, chunks=2)
    assert (left.exists(), others.exists()) == (False, True), "another host may be writing the other chunk"
    assert api.datagen(TPCB, copied, chunks=2).kept == 1


def test_each_of_several_hosts_writes_its_chunks(tmp_path: Path) -> None:
    assert api.datagen(TPCB, tmp_path / "own", chunks=3, chunk=[1, 3], processes=1).chunks == (1, 3)
    assert DataFiles(tmp_path / "own").missing() == [2]


def test_files_of_another_population_are_neither_loaded_nor_replaced(accounts: Path, tmp_path: Path) -> None:
    other = specification(TPCB, parameters={"scale": 2})
    with pytest.raises(InputError, match=r"of another population: parameters"):
        DataFiles(accounts).require(other)
    with pytest.raises(InputError, match=r"of another population: parameters"):
        api.datagen(other, accounts, chunks=2)
    with pytest.raises(InputError, match=r"of another population: format csv, not text, chunks 2, not 3"):
        api.datagen(TPCB, accounts, format="text")
    target = Target(kind="duckdb", database=str(tmp_path / "data"))
    with pytest.raises(InputError, match="of another population"):
        api.connect(target).build(other, from_files=accounts)


def test_indexes_and_storage_are_no_part_of_the_rows(tmp_path: Path) -> None:
    spec = specification("tproc_h", scale_factor=0.01)
    api.datagen(spec, tmp_path / "h", chunk=[1], processes=1)
    DataFiles(tmp_path / "h").require(spec.with_(indexes="keys", partitions=2))


def test_a_damaged_file_ends_the_build_with_a_sentence(copied: Path, tmp_path: Path) -> None:
    path = copied / "pgbench_accounts.2.csv"
    path.write_bytes(path.read_bytes()[:-100])
    target = Target(kind="duckdb", database=str(tmp_path / "data"))
    with pytest.raises(Exception, match=r"pgbench_accounts.2.csv cannot be read: it is shorter than its record says"):
        api.connect(target).build(from_files=copied)


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for what, words in (
        ({"folder": tmp_path / "other"}, "is not empty and has no data of hdbkit; choose another folder"),
        ({"folder": tmp_path / "file"}, "file cannot be used: "),
        ({"chunks": 9}, "has 3 parts, so chunks must be 1 to 3, not 9"),
        ({"chunk": [4]}, "there is no chunk 4; there are 3, from 1"),
        ({"format": "xml"}, "there is no format 'xml' (known: text, csv, parquet, bcp)"),
    ):
        with pytest.raises(InputError) as caught:
            api.datagen(TPCB, **{"folder": tmp_path / "new", **what})  # type: ignore[arg-type]
        assert words in str(caught.value)
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "other" / "file").read_text() == "mine"
    with pytest.raises(InputError, match="hdbkit has no data of TPROC-H of HammerDB"):
        api.datagen("tproc_h", tmp_path / "new", schema_from="hammerdb")
    with pytest.raises(
        InputError, match=r"population.json cannot be read, so .*other is no folder of hdbkit datagen"
    ):
        api.connect(Target(kind="duckdb", database=str(tmp_path / "db"))).build(from_files=tmp_path / "other")


def test_a_full_disk_is_a_sentence_and_leaves_no_draft(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (copied / "chunk-1.json").unlink()
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(data_files, "_written", lambda *_: (_ for _ in ()).throw(full))
    with pytest.raises(InputError, match=r"No space left on device; complete chunks are kept, the same command cont"):
        api.datagen(TPCB, copied, chunks=2)
    assert json.loads((copied / "population.json").read_text())["chunks"] == 2
