"""Seals: only what this account has written is used."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hdbkit.errors import DamagedResult, InputError
from hdbkit.results.seal import drop_sealed, is_revoked, read_sealed, require_key, write_sealed


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder of an account that has no key yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "hdbkit"


def test_the_key_is_made_once_and_only_its_account_reads_it(state: Path) -> None:
    key = require_key()
    assert len(key) == 32
    assert require_key() == key
    assert stat.S_IMODE((state / "key").stat().st_mode) == 0o600
    assert [path.name for path in state.iterdir()] == ["key"]


def test_processes_that_make_it_at_the_same_time_get_the_same() -> None:
    program = "from hdbkit.results.seal import require_key; input(); print(require_key().hex())"
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for one in started:
        assert one.stdin
        one.stdin.write(b"\n")
        one.stdin.flush()
    assert len({one.communicate()[0] for one in started}) == 1


def test_keys_that_are_numbers_are_sealed_as_they_are_read(tmp_path: Path) -> None:
    write_sealed(tmp_path / "file", "fault", {"processes": {9999: "a", 10000: "b"}})
    assert read_sealed(tmp_path / "file", "fault")[1]


def test_a_content_is_read_back_with_whose_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_sealed(path, "plan", {"b": 1, "a": ["x"]})
    assert read_sealed(path, "plan") == ({"b": 1, "a": ["x"], "kind": "plan"}, True)
    assert not read_sealed(path, "fault")[1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    assert not read_sealed(path, "plan")[1]
    assert not (tmp_path / "other").exists(), "reading makes no key"


def test_a_copy_of_a_dropped_file_has_a_revoked_seal(tmp_path: Path, state: Path) -> None:
    path, copy = tmp_path / "file", tmp_path / "copy"
    write_sealed(path, "fault", {"a": 1}, revocable=True)
    shutil.copy(path, copy)
    assert read_sealed(path, "fault")[1]
    drop_sealed(path)
    assert not path.exists()
    assert not read_sealed(copy, "fault")[1]
    assert is_revoked(copy)
    assert [*(state / "pending").iterdir()] == []
    drop_sealed(path)


def test_dropping_a_file_from_elsewhere_removes_nothing_else(tmp_path: Path, state: Path) -> None:
    write_sealed(tmp_path / "own", "fault", {}, revocable=True)
    foreign = tmp_path / "foreign"
    foreign.write_text(json.dumps({"seal": "", "content": {"nonce": "../key"}}))
    drop_sealed(foreign)
    assert not foreign.exists()
    assert (state / "key").exists()
    assert read_sealed(tmp_path / "own", "fault")[1]


DAMAGED = ["", "[]", '{"content": {}}', '{"content": 1, "seal": ""}', '{"content": [[1, 2]], "seal": ""}', "\xff"]


@pytest.mark.parametrize("text", [*DAMAGED, "[" * 200_000], ids=range(len(DAMAGED) + 1))
def test_a_damaged_file_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_bytes(text.encode("latin-1"))
    with pytest.raises(DamagedResult, match="cannot be read"):
        read_sealed(tmp_path / "file", "plan")
    drop_sealed(tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_no_key_opens_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"content": {"kind": "plan"}, "seal": ""}')
    assert not read_sealed(tmp_path / "file", "plan")[1]


def test_a_state_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path, state: Path) -> None:
    state.write_text("a file in its place")
    with pytest.raises(InputError, match=f"by a key in {state}/key, .* set XDG_STATE_HOME"):
        write_sealed(tmp_path / "file", "plan", {})
    assert not (tmp_path / "file").exists()


def test_a_key_of_another_length_or_that_is_a_link_to_nothing_is_an_error(state: Path) -> None:
    state.mkdir()
    (state / "key").write_bytes(b"short")
    with pytest.raises(InputError, match="is no key of hdbkit"):
        require_key()
    (state / "key").unlink()
    (state / "key").symlink_to(state / "none")
    with pytest.raises(InputError, match="it is a dangling link"):
        require_key()
