"""The commands and options that messages name exist, and the commands are complete."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Any

from tests.architecture.source_tree import ROOT, docstrings, modules, nodes, parsed, within
from tests.architecture.test_documents import program, wrong

_ELSEWHERE = (
    "hdbkit/servers/",
    "hdbkit/workloads/tproc_h/population.py",
    "hdbkit/charts/",
    "hdbkit/config/",
    "hdbkit/cli/options.py",
)
"""Where the options are those of other programs, or names in CSS."""
_FOREIGN = {"--help", "--cpus", "--cpuset-cpus", "--upgrade", "--call-graph", "--no-inline"}
"""Options that every command has, of Docker, of pip and of perf."""
_COMMAND = re.compile(r"(?:: |`|<code>)(hdbkit [a-z](?:[^;,()`<\n]|,(?! ))*)")
_OPTION = re.compile(r"(?<![\w/-])--[a-z](?:[\w-]*\w)?")


@cache
def texts() -> list[tuple[str, str]]:
    """Each text of the program outside docstrings, with its file; what the program fills in is ``1``, or a scale."""
    found = []
    for path in modules("hdbkit"):
        tree = parsed(path)
        apart = docstrings(tree)
        apart |= {id(part) for node in nodes(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes(tree):
            if id(node) in apart:
                continue
            if isinstance(node, ast.JoinedStr):
                found.append((within(path), "".join(map(_filled, node.values))))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append((within(path), node.value))
    return found


def _filled(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    return "--warehouses 1" if "scale" in ast.unparse(part) else "1"


def commands(text: str) -> list[str]:
    """The command lines in a text, without the sentence around them."""
    return [one.split(". ")[0].rstrip(". ") for one in _COMMAND.findall(text)]


@cache
def known() -> set[str]:
    """The options of all commands."""
    found, left = set[str](), [program()]
    while left:
        command: Any = left.pop()
        found.update(name for one in command.params for name in (*one.opts, *one.secondary_opts))
        left += getattr(command, "commands", {}).values()
    return found


def test_every_command_that_a_message_names_can_be_typed() -> None:
    lines = {line for _, text in texts() for line in commands(text)}
    assert len(lines) > 50
    assert wrong(sorted(lines)) == {}


def test_every_option_that_a_message_names_exists() -> None:
    named = {
        (one, file) for file, text in texts() if not file.startswith(_ELSEWHERE) for one in _OPTION.findall(text)
    }
    assert len(named) > 50
    assert sorted(one for one in named if one[0] not in known() | _FOREIGN) == []


def test_every_counterpart_in_the_tables_of_other_tools_exists() -> None:
    """The right cell of a row is ours: options there, and commands, are those of the program."""
    rows = re.findall(r"^\| .* \| (.*) \|$", (ROOT / "docs" / "from-hammerdb.md").read_text("utf-8"), re.MULTILINE)
    named = {one for row in rows for one in _OPTION.findall(row)}
    called = {one for row in rows for one in re.findall(r"`hdbkit ([a-z-]+)", row)}
    assert (len(named) > 30, len(called) > 10) == (True, True)
    assert named - known() == set()
    assert called - set(getattr(program(), "commands", {})) == set()


def test_every_item_of_the_tables_of_other_tools_has_a_state() -> None:
    page = (ROOT / "docs" / "from-hammerdb.md").read_text("utf-8")
    tables = re.findall(r"^\| \w+ \| state \| hdbkit \|\n\| --- \| --- \| --- \|\n((?:\|.*\n)+)", page, re.MULTILINE)
    states = [line.strip("| \n").split(" | ")[1] for table in tables for line in table.splitlines()]
    assert (len(tables), set(states)) == (2, {"full", "partial", "missing", "untried"})


def test_wrong_advice_is_found() -> None:
    line = "the run ended; continue it with: hdbkit resume 1 --anew, or give it up"
    assert list(wrong(commands(line))) == ["hdbkit resume 1 --anew"]
    assert _OPTION.findall(line) == ["--anew"]
    assert "--anew" not in known()
