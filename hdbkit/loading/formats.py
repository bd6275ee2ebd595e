r"""The formats of data files: ``text`` as loads take it, CSV, Parquet, and that of bcp.

A file has the rows of one table, part after part. ``text`` is tab-separated with ``\N`` for null, which PostgreSQL's
COPY and MySQL's LOAD DATA read by default. CSV follows RFC 4180 without a header: texts are in double quotes, and an
empty field without quotes is null. Decimals of Parquet have 18 digits, 4 of them behind the point.
A file for bcp is tab-separated, with an empty field for null and a zero byte for an empty text; it has no escapes.
"""

from __future__ import annotations

import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from hdbkit.contracts import Table
from hdbkit.errors import InputError
from hdbkit.files import opened_file
from hdbkit.loading.data_files import Extent, Format

_CHUNK_BYTES: Final = 1 << 20
_BCP_BYTES: Final = 8000
"""The maximum length of a field in a format file, in bytes: that of a column of SQL Server outside its MAX types."""
_TEXT: Final = "text"
_TYPES: Final = {
    "integer": pa.int64(),
    "decimal": pa.decimal128(18, 4),
    "timestamp": pa.timestamp("s"),
    "date": pa.date32(),
    _TEXT: pa.string(),
}
_NULL: Final = r"\N"
_ESCAPED: Final = re.compile(r"\\(.)")
_SPECIAL: Final = re.compile(r"[\\\t\n\r]")
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r"}
_ESCAPED_BYTES: Final = re.compile(rb"\\(.)")
_CONTROLS: Final = {name.encode(): word.encode() for name, word in _ESCAPES.items()}
_WORDS: Final = {word: f"\\{name}" for name, word in _ESCAPES.items()}


class Writer(ABC):
    """A file of a table that is being written; a context manager that closes it."""

    _file: Any

    @abstractmethod
    def write(self, chunk: bytes) -> None:
        """Append rows of tab-separated text."""

    @property
    @abstractmethod
    def end(self) -> int:
        """The bytes or row groups that it has."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def writer(path: Path, table: Table, form: Format) -> Writer:
    """A new file for the rows of a table. Raises ``OSError``."""
    if form is Format.PARQUET:
        return _ParquetWriter(path, table)
    return _BytesWriter(path, table, form)


def rows_in(path: Path, table: Table, form: Format, extent: Extent) -> Iterator[bytes]:
    """The rows of an extent of a file as tab-separated text, in chunks. Raises ``OSError`` and ``ValueError``."""
    if form is Format.PARQUET:
        with os.fdopen(opened_file(path), "rb") as content, pq.ParquetFile(content) as file:
            for number in range(extent.first, extent.first + extent.count):
                yield _text_of(file.read_row_group(number, list(table.columns)))
        return
    with os.fdopen(opened_file(path), "rb") as file:
        file.seek(extent.first)
        for chunk in _lines(file, extent.count, quoted=form is Format.CSV):
            if form is Format.CSV:
                chunk = _text_of(_read_csv(chunk, table))  # noqa: PLW2901
            yield _of_bcp(chunk) if form is Format.BCP else chunk


class _BytesWriter(Writer):
    def __init__(self, path: Path, table: Table, form: Format) -> None:
        self._file: BinaryIO = path.open("wb")
        self._table, self._form = table, form

    def write(self, chunk: bytes) -> None:
        if self._form is Format.CSV:
            chunk = _csv_of(chunk, self._table)
        elif self._form is Format.BCP:
            chunk = _bcp_of(chunk, self._table)
        self._file.write(chunk)

    @property
    def end(self) -> int:
        return self._file.tell()


class _ParquetWriter(Writer):
    def __init__(self, path: Path, table: Table) -> None:
        self._table = table
        self._file = pq.ParquetWriter(path, _schema(table), compression="zstd")
        self._groups = 0

    def write(self, chunk: bytes) -> None:
        self._file.write_table(_arrow_of(chunk, self._table))
        self._groups += 1

    @property
    def end(self) -> int:
        return self._groups


def _schema(table: Table) -> pa.Schema:
    types = table.types or (_TEXT,) * len(table.columns)
    return pa.schema([(name, _TYPES[kind]) for name, kind in zip(table.columns, types, strict=True)])


def _arrow_of(chunk: bytes, table: Table) -> pa.Table:
    """Rows of tab-separated text as an Arrow table with the types of its columns. Raises ``InputError``."""
    schema = _schema(table)
    try:
        found = csv.read_csv(
            io.BytesIO(chunk),
            csv.ReadOptions(column_names=list(table.columns), use_threads=False, block_size=max(len(chunk), 1)),
            csv.ParseOptions(delimiter="\t", quote_char=False, escape_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=schema, null_values=[_NULL], strings_can_be_null=True),
        )
    except pa.ArrowInvalid as error:
        raise InputError(f"rows of {table.name} cannot be written in this format: {error}") from None
    if b"\\" not in chunk.replace(rb"\N", b""):
        return found
    columns = [
        pa.array([_unescaped(one) for one in column.to_pylist()], column.type)
        if pa.types.is_string(column.type)
        else column
        for column in found.columns
    ]
    return pa.table(columns, schema=schema)


def _csv_of(chunk: bytes, table: Table) -> bytes:
    """Numbers and times as they are, texts in quotes."""
    rows = chunk.removesuffix(b"\n").split(b"\n")
    columns = zip(*(row.split(b"\t") for row in rows), strict=True)
    types = table.types or (_TEXT,) * len(table.columns)
    made = [list(map(_QUOTED[kind == _TEXT], column)) for kind, column in zip(types, columns, strict=True)]
    return b"\n".join(map(b",".join, zip(*made, strict=True))) + b"\n"


def format_file(table: Table) -> bytes:
    """The format file with which bcp reads the rows of a table whose columns have the order of the specification."""
    lines = ["14.0", str(len(table.columns))]
    for number, name in enumerate(table.columns, 1):
        end = r"\n" if number == len(table.columns) else r"\t"
        lines.append(f'{number} SQLCHAR 0 {_BCP_BYTES} "{end}" {number} {name} ""')
    return "".join(f"{line}\n" for line in lines).encode()


def _bcp_of(chunk: bytes, table: Table) -> bytes:
    """Rows of tab-separated text in the format of bcp. Raises ``InputError`` for a text that it cannot have."""
    fields = [line.split(b"\t") for line in chunk.removesuffix(b"\n").split(b"\n")]
    rows = [[b"" if one == rb"\N" else one.replace(rb"\\", b"\0\0") or b"\0" for one in row] for row in fields]
    made = b"\n".join(map(b"\t".join, rows)) + b"\n"
    if b"\\" in made:
        raise InputError(f"rows of {table.name} have a tab or line end in a text, which bcp cannot read; choose csv")
    return made.replace(b"\0\0", b"\\")


def _of_bcp(chunk: bytes) -> bytes:
    """The same rows as tab-separated text."""
    fields = [line.split(b"\t") for line in chunk.removesuffix(b"\n").split(b"\n")]
    rows = [
        [rb"\N" if not one else b"" if one == b"\0" else one.replace(b"\\", rb"\\") for one in row] for row in fields
    ]
    return b"\n".join(map(b"\t".join, rows)) + b"\n"


def _plain(value: bytes) -> bytes:
    return b"" if value == rb"\N" else value


def _in_quotes(value: bytes) -> bytes:
    if value == rb"\N":
        return b""
    if b"\\" in value:
        value = _ESCAPED_BYTES.sub(lambda found: _CONTROLS.get(found[1], found[1]), value)
    return b'"%b"' % value.replace(b'"', b'""')


_QUOTED: Final = {True: _in_quotes, False: _plain}


def _read_csv(chunk: bytes, table: Table) -> pa.Table:
    return csv.read_csv(
        io.BytesIO(chunk),
        csv.ReadOptions(column_names=list(table.columns), use_threads=False, block_size=max(len(chunk), 1)),
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=dict.fromkeys(table.columns, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _text_of(table: pa.Table) -> bytes:
    columns = [_fields(column) for column in table.columns]
    return "".join(["\t".join(row) + "\n" for row in zip(*columns, strict=True)]).encode()


def _fields(column: Any) -> list[str]:
    if pa.types.is_timestamp(column.type):  # Parquet has no unit of seconds
        column = column.cast(_TYPES["timestamp"])
    values = column.cast(pa.string()).to_pylist()
    if not pa.types.is_string(column.type):
        return [_NULL if value is None else value for value in values]
    return [_NULL if value is None else _SPECIAL.sub(_escape, value) for value in values]


def _escape(found: re.Match[str]) -> str:
    return _WORDS.get(found[0], rf"\{found[0]}")


def _unescaped(value: str | None) -> str | None:
    return value and _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), value)


def _lines(file: BinaryIO, size: int, *, quoted: bool) -> Iterator[bytes]:
    """So many bytes of a file, in chunks of whole rows; ``quoted``: a row may have line feeds in quotes."""
    rest = b""
    while size:
        read = file.read(min(size, _CHUNK_BYTES))
        if not read:
            raise ValueError("it is shorter than its record says")
        size -= len(read)
        rest += read
        end = len(rest) if not size else _end_of_rows(rest) if quoted else rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
            rest = rest[end:]


def _end_of_rows(text: bytes) -> int:
    """The end of the last whole row; 0 if there is none. Before it the number of quotes is even."""
    end = text.rfind(b"\n") + 1
    while end and text.count(b'"', 0, end) % 2:
        end = text.rfind(b"\n", 0, end - 1) + 1
    return end
