"""Spools: records are read back by any process, without a plan; incomplete records are not."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from hdbkit.errors import DamagedResult
from hdbkit.results.spool import (
    HEADER_BYTES,
    Heads,
    SpoolReader,
    SpoolTails,
    SpoolWriter,
    arrow_types,
    read_spools,
    record_struct,
    record_type,
    require_readable,
)

DETAILS = {"key": "u8", "shard": "u1", "delta": "i2"}


def written(path: Path, client: int, count: int) -> None:
    writer = SpoolWriter(path, client, DETAILS)
    heads = Heads(40 + client, DETAILS).pack([i % 5 for i in range(count)], key=range(count), delta=-1)
    for i, head in enumerate(heads):
        writer.append(i, i + 1, i + 2, head, i % 3, i % 7, i % 2)
    assert writer.written == count
    writer.close()


def test_what_was_written_is_read_back_without_a_plan(tmp_path: Path) -> None:
    written(tmp_path / "00003.spool", 3, 100)
    reader = SpoolReader(tmp_path / "00003.spool")
    records = reader.read()
    reader.close()
    assert (reader.client, records.dtype) == (3, record_type(DETAILS))
    assert set(records["virtual_user"]) == {43}
    index = np.arange(100)
    for column, values in {
        "scheduled_ns": index,
        "start_ns": index + 1,
        "end_ns": index + 2,
        "operation": index % 5,
        "key": index,
        "shard": index * 0,
        "delta": index * 0 - 1,
        "outcome": index % 3,
        "retries": index % 7,
        "error_class": index % 2,
    }.items():
        assert (records[column] == values).all(), column


def test_a_spool_continues_over_several_segments(tmp_path: Path) -> None:
    count = 2 * 65_536 + 10
    written(tmp_path / "00000.spool", 0, count)
    keys = np.concatenate([records["key"] for _, records in read_spools(tmp_path, max_records=50_000)])
    assert (keys == np.arange(count)).all()


def test_a_torn_record_and_what_follows_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "00000.spool"
    written(path, 0, 10)
    size = record_type(DETAILS).itemsize
    with path.open("r+b") as file:
        file.seek(HEADER_BYTES + 7 * size + size - 2)
        file.write(b"\0\0")
    reader = SpoolReader(path)
    assert reader.read()["key"].tolist() == list(range(7))
    reader.close()


def test_tails_give_each_record_once_and_nothing_from_before(tmp_path: Path) -> None:
    written(tmp_path / "00000.spool", 0, 10)
    tails = SpoolTails(tmp_path)
    assert [piece["key"].tolist() for piece in tails.new(since_ns=8)] == [[6, 7, 8, 9]]  # the first ends at 2 ns
    assert list(tails.new(since_ns=8)) == []
    written(tmp_path / "00001.spool", 1, 3)
    assert [piece["virtual_user"].tolist() for piece in tails.new(since_ns=0)] == [[41] * 3]
    tails.close()


@pytest.mark.parametrize(
    ("at", "content", "reason"),
    [
        (0, b"NOSPOOL!", "not an hdbkit spool"),
        (8, struct.pack("<I", 1), "has spool version 1"),
        (12, struct.pack("<I", 7), "of 7 bytes"),
    ],
)
def test_a_foreign_file_is_not_read_as_a_spool(tmp_path: Path, at: int, content: bytes, reason: str) -> None:
    path = tmp_path / "00000.spool"
    written(path, 0, 1)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)
    for read in (lambda: SpoolReader(path), lambda: list(read_spools(tmp_path)), lambda: require_readable(tmp_path)):
        with pytest.raises(DamagedResult, match=reason):
            read()


@pytest.mark.parametrize("content", [b"", b"\0" * HEADER_BYTES])
def test_a_spool_without_a_header_has_no_records(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "00000.spool").write_bytes(content)
    require_readable(tmp_path)
    assert list(read_spools(tmp_path)) == []


def test_a_record_and_its_struct_have_the_same_size_and_details_their_arrow_types() -> None:
    for details in ({}, {"a": "u1"}, DETAILS):
        assert record_struct(details).size == record_type(details).itemsize
    assert arrow_types(DETAILS) == {"key": "uint64", "shard": "uint8", "delta": "int16"}
