"""The reservation of a schema by a file: it takes no harm from what is there, and does none."""

from __future__ import annotations

from pathlib import Path

import pytest

from hdbkit.databases._base.file_lock import FileClaim


def test_one_has_it_until_it_ends_and_no_file_remains(tmp_path: Path) -> None:
    path = tmp_path / "x-build"
    first, second = FileClaim(path), FileClaim(path)
    assert first.take()
    assert first.take()
    assert not second.take()
    first.end()
    assert second.take()
    second.end()
    assert not path.exists()


def test_a_file_of_somebody_else_keeps_its_content(tmp_path: Path) -> None:
    path = tmp_path / "x-build"
    path.write_text("precious")
    claim = FileClaim(path)
    assert claim.take()
    claim.end()
    assert path.read_text() == "precious"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "x-build").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="x-build"):
        FileClaim(tmp_path / "x-build").take()
    assert (tmp_path / "precious").read_text() == "precious"
