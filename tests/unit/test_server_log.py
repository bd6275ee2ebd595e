"""The last lines of a server's log."""

from __future__ import annotations

from pathlib import Path

from hdbkit.servers._mysqld import error_lines
from hdbkit.servers.log import CollectedLog, last_lines, read_since


def test_the_last_lines_are_reported_in_one_line_without_the_empty_ones() -> None:
    assert last_lines("".join(f"line {number}\n\n" for number in range(9))) == " | ".join(
        f"line {number}" for number in range(3, 9)
    )
    assert last_lines(" \n\n") == ""
    assert len(last_lines("x" * 10_000)) == 600


def test_a_log_is_read_from_where_it_ended_and_anew_where_it_was_begun_anew(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("before\n")
    size = log.stat().st_size
    assert read_since(log, size) == ""
    with log.open("a") as file:
        file.write("after\n")
    assert read_since(log, size) == "after\n"
    log.write_text("new\n")
    assert read_since(log, size) == "new\n"


def test_errors_come_before_other_last_lines() -> None:
    assert error_lines("[ERROR] port in use\n[Note] ended\n") == "[ERROR] port in use"
    assert error_lines("[Note] ended\n") == "[Note] ended"
    assert error_lines("") == "it left no message"


def test_a_log_process_s_new_file_is_that_of_its_own_server(tmp_path: Path) -> None:
    """Two servers may log to one folder."""
    present, other = tmp_path / "main-2026-11-22_1.log", tmp_path / "other-2026-11-22_1.log"
    present.write_text("before\n")
    log = CollectedLog(present)
    other.write_text("of another\n")
    with present.open("a") as file:
        file.write("after\n")
    path, size = log.new()
    assert (path, read_since(path, size)) == (present, "after\n")
    begun = tmp_path / "main-2026-11-23_10.log"
    begun.write_text("new\n")
    assert log.new() == (begun, 0)
    log.note()
    assert log.new() == (present, len("before\nafter\n"))
