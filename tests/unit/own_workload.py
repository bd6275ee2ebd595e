"""A user-defined workload in a folder, and the errors in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from hdbkit.errors import ConfigErrors
from hdbkit.workloads import specification

YAML = """\
parameters: {rows: 1000}
operations:
  look: {weight: 3}
  change: {statements: [change, note]}
variables:
  id: {uniform: {max: 10 * rows}}
  text: {text: {max: 9}}
"""
SQL = """\
-- name: look
SELECT content FROM things WHERE id = :id;
-- name: change
UPDATE things SET content = :text WHERE id = :id;
-- name: note
INSERT INTO notes VALUES (:id);
"""


def folder(path: Path, yaml: str = YAML, sql: str = SQL, **others: str) -> Path:
    """A workload in a new folder; ``others`` are SQL by dialect."""
    path = path / "my-work"
    path.mkdir()
    (path / "workload.yaml").write_text(yaml)
    (path / "statements.sql").write_text(sql)
    for dialect, text in others.items():
        (path / dialect).mkdir()
        (path / dialect / "own.sql").write_text(text)
    return path


def errors(path: Path) -> list[str]:
    """All errors that reading a folder reports: line, place and text."""
    with pytest.raises(ConfigErrors) as caught:
        specification(path)
    return [f"{one.line} {one.where}: {one.what}" for one in caught.value.problems]
