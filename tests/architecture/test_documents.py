"""What the documents say is so: what README.md tells to type can be typed, and the rooms are those of the code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress

import pytest
import typer

from hdbkit.cli import app
from hdbkit.cli.exits import USAGE
from tests.architecture.source_tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TYPED = re.compile(
    r"^(?: {4}|\$ )+(?P<line>hdbkit .*?|make .*?)\s*(?:#.*)?$|`(?P<code>(?:hdbkit|make) [^`]+)`", re.MULTILINE
)


def typed(program: str) -> list[str]:
    """Every command line of a program: in code blocks, without its comment, and in running text."""
    found = [match["line"] or match["code"] for match in TYPED.finditer(README)]
    return sorted({line for line in found if line.startswith(f"{program} ")})


def parse(line: str) -> None:
    """Let the command read the line as it would; nothing is executed. Raises what typer raises at a wrong one."""
    words = shlex.split(line)[1:]
    command = typer.main.get_command(app)
    while True:
        name = words.pop(0)
        command = command.commands[name]  # type: ignore[attr-defined]
        if not hasattr(command, "commands"):
            if words:  # else the text names the command and no more
                with suppress(typer.Exit):  # an option that prints something and leaves
                    command.make_context(name, words).close()
            return


@pytest.mark.parametrize("line", typed("hdbkit"))
def test_a_command_line_is_understood(line: str) -> None:
    parse(line)


def test_readme_shows_the_main_commands() -> None:
    shown = {line.split()[1] for line in typed("hdbkit")}
    assert {"demo", "build", "check", "drop", "run", "sweep", "plan", "compare", "report", "runs", "attach"} <= shown


@pytest.mark.parametrize(
    "wrong", ["hdbkit run lab --users 3", "hdbkit rum lab", "hdbkit run -u 3", "hdbkit sweep lab s.yaml --blocks x"]
)
def test_a_wrong_command_line_is_not_understood(wrong: str) -> None:
    with pytest.raises((USAGE, KeyError)):
        parse(wrong)


def targets() -> Iterator[str]:
    for line in typed("make"):
        yield from (word for word in line.split()[1:] if "=" not in word)


@pytest.mark.parametrize("target", sorted(set(targets())))
def test_a_target_of_make_exists(target: str) -> None:
    assert re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_architecture_names_every_room() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("\n| package |")[2].partition("\n\n")[0]
    named = {room for line in table.splitlines()[2:] for room in re.findall(r"`(\w+)`", line.split("|")[1])}
    there = {path.stem for path in (ROOT / "hdbkit").iterdir() if path.suffix in ("", ".py")}
    assert named == {name for name in there if not name.startswith("_") and name != "data"}


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_a_path_that_a_document_names_is_there(name: str) -> None:
    paths = re.findall(
        r"`((?:hdbkit|tests|params|schemas|notebooks|runners)/[\w./-]*)`", (ROOT / name).read_text("utf-8")
    )
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
