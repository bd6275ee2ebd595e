"""The documents are correct: their commands parse, and their names and links exist."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from hdbkit import api
from hdbkit.api import Workspace
from hdbkit.cli import app
from hdbkit.cli.exits import USAGE
from hdbkit.contracts import Database
from hdbkit.databases import DbapiDatabase, DbapiSession
from hdbkit.engines.new_engine import write_engine
from hdbkit.sql import ANSI, fragments
from tests.architecture.source_tree import ROOT
from tests.conftest import HdbkitCommand

GUIDE = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
"""The documents of users: every command in them is one that can be typed."""
DOCUMENTS = [
    *GUIDE,
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / folder / "README.md" for folder in ("bench", "notebooks", "results", "runners", "schemas", "tests")),
]
TYPED = re.compile(
    r"^(?: {4}|\$ )+(?P<line>hdbkit .*?|make .*?)\s*(?:#.*)?$|`(?P<code>(?:hdbkit|make) [^`]+)`", re.MULTILINE
)
OURS = r"(?:hdbkit|tests|params|schemas|notebooks|runners|bench|docs)/[\w./-]*"
LINK = re.compile(r"\[[^\]]*\]\((?P<path>[^)#\s]*)(?:#(?P<heading>[^)]*))?\)")


def typed(program: str) -> list[str]:
    """Every command line of a program: in code blocks, without its comment, and in running text."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in GUIDE)
    found = [match["line"] or match["code"] for match in TYPED.finditer(text)]
    return sorted({line for line in found if line.startswith(f"{program} ")})


@cache
def program() -> Any:
    """The command with all its commands."""
    return typer.main.get_command(app)


def parse(line: str) -> None:
    """Let the command read the line as it would; nothing is executed. Raises what typer raises at a wrong one."""
    words = shlex.split(line)[1:]
    command = program()
    while True:
        name = words.pop(0)
        if name.startswith("-"):  # an option of the program itself, which would act at once
            if not any(name in parameter.opts for parameter in command.params):
                raise KeyError(name)
            return
        command = command.commands[name]
        if not hasattr(command, "commands"):
            if words:  # else the text names the command and no more
                with suppress(typer.Exit):  # an option that prints something and leaves
                    command.make_context(name, words).close()
            return


def wrong(lines: list[str]) -> dict[str, str]:
    """The lines that the command line does not understand, and why."""
    found = {}
    for line in lines:
        try:
            parse(line)
        except (USAGE, KeyError, IndexError) as error:
            found[line] = str(error)
    return found


def test_every_command_line_is_understood() -> None:
    assert wrong(typed("hdbkit")) == {}


def test_the_documents_show_every_command() -> None:
    shown = {line.split()[1] for line in typed("hdbkit")}
    assert shown >= set(program().commands)


def test_readme_is_one_page_and_shows_the_first_steps() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    for step in ("make demo", "make test", "hdbkit build", "hdbkit run", "hdbkit sweep", "hdbkit report"):
        assert f"    {step} " in text


@pytest.mark.parametrize(
    "line", ["hdbkit run lab --users 3", "hdbkit rum lab", "hdbkit run -u 3", "hdbkit sweep lab s.yaml --blocks x"]
)
def test_a_wrong_command_line_is_not_understood(line: str) -> None:
    assert list(wrong([line])) == [line]


def test_every_target_of_make_exists() -> None:
    named = {word for line in typed("make") for word in line.split()[1:] if "=" not in word}
    there = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert named >= {"demo", "test", "lab", "bench", "soak"}
    assert named <= there


def test_architecture_names_every_room() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("\n| package |")[2].partition("\n\n")[0]
    named = {room for line in table.splitlines()[2:] for room in re.findall(r"`(\w+)`", line.split("|")[1])}
    there = {path.stem for path in (ROOT / "hdbkit").iterdir() if path.suffix in ("", ".py")}
    assert named == {name for name in there if not name.startswith("_") and name != "data"}


def test_every_path_that_a_document_names_is_there() -> None:
    named = {path.name: re.findall(rf"`({OURS})`", path.read_text(encoding="utf-8")) for path in DOCUMENTS}
    named["commands"] = [path for line in typed("hdbkit") for path in re.findall(rf"(?<!\S){OURS}", line)]
    assert min(map(len, (named["README.md"], named["commands"], named["workloads.md"]))) > 0
    gone = {name: [path for path in paths if not (ROOT / path).exists()] for name, paths in named.items()}
    assert {name: paths for name, paths in gone.items() if paths} == {}


def test_every_module_that_the_architecture_names_is_there() -> None:
    named = set(re.findall(r"`(\w+(?:/\w+)*\.py)`", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")))
    there = [f"/{path.relative_to(ROOT)}" for path in (ROOT / "hdbkit").rglob("*.py")]
    assert len(named) > 20
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in there)] == []


def test_every_link_between_documents_leads_somewhere() -> None:
    dead = []
    for document in DOCUMENTS:
        for link in LINK.finditer(document.read_text(encoding="utf-8")):
            if re.match(r"\w+:", link["path"]):
                continue
            target = (document.parent / link["path"]).resolve() if link["path"] else document
            if not target.exists() or (link["heading"] and link["heading"] not in anchors(target)):
                dead.append(f"{document.name}: {link[0]}")
    assert dead == []


def test_the_site_lists_every_page() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    listed = {line for block in re.findall(r"```\{toctree\}(.*?)```", index, re.DOTALL) for line in block.split()}
    pages = {f"{path.relative_to(ROOT / 'docs').with_suffix('')}" for path in (ROOT / "docs").rglob("*.md")} - {
        "index"
    }
    assert pages - listed == set()
    assert {"tutorial", "api"} <= pages


def test_every_test_that_the_table_of_faults_names_is_there() -> None:
    named = re.findall(r"`([\w/]*(?:\.py)?)::(test_\w+)`", (ROOT / "tests/README.md").read_text(encoding="utf-8"))
    assert named
    gone, file = [], ""
    for given, test in named:
        file = given or file
        if f"def {test}(" not in (ROOT / "tests" / file).read_text(encoding="utf-8"):
            gone.append(f"{file}::{test}")
    assert gone == []


def anchors(document: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_no_class_of_the_reference_shows_the_folders_of_who_builds_the_site() -> None:
    """A dataclass has no text of its defaults, so Sphinx would print their values."""
    classes = {
        name: fields(one) for name in dir(api) if is_dataclass(one := getattr(api, name)) and isinstance(one, type)
    }
    assert len(classes) > 5
    assert [name for name, found in classes.items() for one in found if isinstance(one.default, Workspace)] == []


def test_the_page_of_engines_has_what_the_command_prints(command: HdbkitCommand) -> None:
    printed = command("engine", "list", "--markdown").out
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    assert page.endswith(printed), "replace the table at the end by that of: hdbkit engine list --markdown"


def test_the_guide_to_a_new_database_has_every_fragment_and_every_file_of_the_skeleton(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    guide = text.partition("## Add a database")[2].partition("\n## ")[0]
    steps = [part.partition("### ")[0] for part in re.split(r"### Step \d", guide)]
    assert {*re.findall(r"^\| `(\w+)(?:\([^)]*\))?` \|", steps[3], re.MULTILINE)} == {*fragments((ANSI,))}
    written = {path.relative_to(tmp_path).as_posix() for path in write_engine("mydb", tmp_path)}
    for path in written - {"README.md"}:
        assert f"`hdbkit-mydb/{re.sub('server/.+', 'server/*.sql', path)}`" in steps[1]
    cells = re.findall(r"^\| (`[^|]+`) \|", steps[2], re.MULTILINE)
    members = {name for cell in cells for name in re.findall(r"`([a-z_]+)[`(]", cell)}
    assert {"paramstyle", "opened", "encoded", "autocommits"} <= members
    there = {*dir(DbapiDatabase), *dir(DbapiSession), *DbapiDatabase.__annotations__, *Database.__annotations__}
    assert members <= there
