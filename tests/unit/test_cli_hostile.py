"""Command lines that a program or an attacker writes: bytes that are no text, endless files, folders of others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import HdbkitCommand
from tests.unit.synthetic import write_run

NOWHERE = "127.0.0.1:1/x"


@pytest.mark.parametrize("words", [("--label", "\udcff"), ("--mix", "payment=\udcff")])
def test_an_argument_that_is_not_utf_8_is_named(command: HdbkitCommand, words: tuple[str, str]) -> None:
    said = command("run", f"postgresql://x@{NOWHERE}", *words)
    assert (said.code, "is not valid UTF-8" in said.err, "Traceback" in said.err) == (2, True, False)


@pytest.mark.parametrize("kind", ["postgresql", "mysql", "mariadb"])
def test_a_password_of_any_bytes_leads_to_one_sentence(
    command: HdbkitCommand, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_PASSWORD", os.fsdecode(b"\xff\xfe"))
    said = command("check", f"{kind}://x@{NOWHERE}")
    assert said.code == 2
    assert said.err.startswith(f"hdbkit: cannot connect to {kind}://x@{NOWHERE}: ")


@pytest.mark.parametrize(
    ("mode", "reason"), [("required", "nothing listens"), ("requird", "Did you mean 'required'?")]
)
def test_the_mode_of_tls_is_known_in_either_case(command: HdbkitCommand, mode: str, reason: str) -> None:
    said = command("check", f"mysql://x@{NOWHERE}?ssl_mode={mode}")
    assert (said.code, reason in said.err) == (2, True)


def test_no_text_of_a_result_is_a_command_of_the_terminal(
    command: HdbkitCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HDBKIT_RESULTS", str(tmp_path))
    folder, text = write_run(tmp_path / "20260101-a", duration_s=1).folder, "\x1b]0;another title\x07\x9b31m"
    folder.write(folder.read().model_copy(update={"warnings": [text]}))
    shown, unknown = command("runs", "show", "last"), command("runs", "show", text)
    for said in (shown.out, unknown.err):
        assert "another title" in said
        assert not {"\x1b", "\x9b"} & set(said)


@pytest.mark.parametrize("words", [("run", "--params", "/dev/zero"), ("sweep", "/dev/zero")])
def test_a_file_without_end_is_refused(command: HdbkitCommand, words: tuple[str, ...]) -> None:
    verb, *rest = words
    said = command(verb, f"postgresql://x@{NOWHERE}", *rest)
    assert (said.code, "/dev/zero" in said.err) == (2, True)


def test_a_folder_outside_the_results_is_not_deleted(
    command: HdbkitCommand, tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = write_run(tmp_path / "outside").folder
    monkeypatch.chdir(results)
    for yes in ((), ("--yes",)):  # nothing is asked either
        said = command("runs", "rm", os.path.relpath(outside.path, results), *yes)
        assert (said.code, "is not a run in the results folder" in said.err) == (2, True)
        assert outside.path.is_dir()


def test_an_interrupt_while_the_program_is_imported_shows_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    program = subprocess.Popen(
        [sys.executable, "-m", "hdbkit", "--help"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "importing\n"
    time.sleep(0.1)
    program.send_signal(2)
    _, err = program.communicate(timeout=180)
    assert (program.returncode, err) == (130, "")


def test_a_repeated_key_is_an_error(command: HdbkitCommand) -> None:
    said = command("run", f"postgresql://x@{NOWHERE}", "--mix", "payment=3,payment=4")
    assert (said.code, "'payment' occurs twice" in said.err) == (2, True)
