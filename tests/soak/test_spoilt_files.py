"""10,000 damaged parameter files: each is valid or rejected with exit code 2; nothing is created."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hdbkit.cli import main
from hdbkit.paths import data_folder

SOURCES = {path.name: path.read_bytes() for path in sorted(data_folder("params").glob("*.*"))}
NOWHERE = "nulldb:///no-such-database"
MARKS = st.text("&*!{}[]:,-?|>%@`\"'#\n\t~=<0x.9e", max_size=8).map(str.encode)
WORDS = st.sampled_from([b"true", b"null", b"-1", b"1e999", b".nan", b"!!binary x", b"2026-01-01", b"? ", b"<<: *a"])


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[str, bytes]:
    """One of our files with some cuts and insertions."""
    name = draw(st.sampled_from(list(SOURCES)))
    content = SOURCES[name]
    for _ in range(draw(st.integers(1, 3))):
        at, cut = draw(st.integers(0, len(content))), draw(st.integers(0, 12))
        put = draw(st.one_of(st.binary(max_size=6), MARKS, WORDS))
        content = content[:at] + put + content[at + cut :]
    return name, content


def reported(*words: object) -> tuple[int, str]:
    """The exit code of a command line and its words on standard error."""
    err = io.StringIO()
    with (
        pytest.raises(SystemExit) as ended,
        contextlib.redirect_stderr(err),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        main([str(word) for word in words])
    assert isinstance(ended.value.code, int)
    return ended.value.code, err.getvalue()


def commands_for(path: Path) -> list[tuple[object, ...]]:
    """The command lines that read a file of this name; none can reach a database."""
    if path.name == "targets.yaml":
        return [("run", "lab")]
    if path.name.startswith("run"):
        return [("run", NOWHERE, "--params", path)]
    return [("plan", NOWHERE, path), ("sweep", NOWHERE, path)]


@pytest.mark.timeout(3600)
@settings(
    max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)
@given(one=spoilt())
def test_a_damaged_file_is_refused_in_words_and_nothing_is_made(
    tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch, one: tuple[str, bytes]
) -> None:
    name, content = one
    path = tmp_path / name
    path.write_bytes(content)
    monkeypatch.setenv("HDBKIT_TARGETS", str(path if name == "targets.yaml" else tmp_path / "none.yaml"))
    for words in commands_for(path):
        code, err = reported(*words)
        assert code == 2 or (words[0] == "plan" and code == 0), (words, code, err)
        assert "Traceback" not in err
        assert (len(err) > 20) == (code == 2)
    assert not list(results.rglob("*"))
