"""Engines of other packages are found by their entry points; a broken one is reported and breaks nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hdbkit import api, sql
from hdbkit.api.diagnosis import drivers
from hdbkit.config import Target
from hdbkit.databases import ENTRY_POINTS, built_in, database, external, kinds, unusable
from hdbkit.engines.new_engine import write_engine
from hdbkit.errors import InputError
from tests.conftest import HdbkitCommand

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes a folder importable, with the entry points of a package that is installed."""
    monkeypatch.setattr(sql, "_ADDED", [])
    before = {*sys.modules}

    def done(package: str, folder: Path, *entries: str) -> None:
        info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *entries]) + "\n")
        monkeypatch.syspath_prepend(str(folder))
        external.cache_clear()

    yield done
    monkeypatch.undo()
    external.cache_clear()
    sql.statements.cache_clear()
    sql.fragments.cache_clear()
    for name in {*sys.modules} - before:
        if name.startswith("hdbkit_"):
            del sys.modules[name]


@pytest.fixture
def acme(tmp_path: Path, install: Install) -> Target:
    """A target of the skeleton, as if it were installed."""
    folder = tmp_path / "package"
    write_engine("acme", folder)
    install("hdbkit-acme", folder, "acme = hdbkit_acme:DATABASE")
    return Target(kind="acme", database=str(tmp_path / "check.db"))


def test_the_skeleton_keeps_every_rule_at_once(acme: Target) -> None:
    found = api.check_engine(acme)
    states = set(found["state"])
    assert "kept" in states
    assert not found[found["state"].isin(["missing", "broken"])].to_dict("records")
    assert {"counters", "clock"} <= set(found[found["state"] == "optional"]["name"])


def test_an_engine_of_another_package_is_a_kind_with_statements_of_its_own(
    acme: Target, command: HdbkitCommand
) -> None:
    assert "acme" in kinds()
    assert "acme" not in built_in()
    assert database("acme").title == "Acme"
    shown = command("sql", "show", "acme", "list_tables")
    assert shown.code == 0
    assert shown.out.startswith("-- list_tables  (acme/server/server.sql)")
    assert "(ansi/server/schema.sql)" in command("sql", "show", "acme", "insert_row").out
    assert "acme" in set(api.list_databases()["kind"])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("import no_such_driver\n", "ModuleNotFoundError: No module named 'no_such_driver'"),
        ("DATABASE = (\n", "SyntaxError"),
        ("", "AttributeError"),
        ("class Half:\n    kind = 'broken'\nDATABASE = Half()\n", "hdbkit_broken:DATABASE lacks title, "),
    ],
    ids=["import", "syntax", "object", "contract"],
)
def test_a_broken_package_is_reported_in_one_sentence_and_breaks_nothing(
    tmp_path: Path, install: Install, command: HdbkitCommand, content: str, reason: str
) -> None:
    (tmp_path / "hdbkit_broken.py").write_text(content)
    install("broken-engine", tmp_path, "broken = hdbkit_broken:DATABASE")
    assert kinds() == built_in()
    (problem,) = unusable().values()
    assert problem.startswith(f"the database 'broken' of the package broken-engine cannot be used ({reason}")
    with pytest.raises(InputError, match="of the package broken-engine cannot be used"):
        database("broken")
    found = drivers().set_index("name")
    assert found.loc["broken", "detail"] == problem
    assert not found.loc["broken", "usable"]
    said = command("run", "broken://host/db")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert command("engine", "list", "--json").code == 0


def test_no_package_replaces_an_engine_of_hdbkit_or_of_another(tmp_path: Path, install: Install) -> None:
    own = built_in()[0]
    (tmp_path / "hdbkit_other.py").write_text("DATABASE = None\n")
    install("first", tmp_path / "a", f"{own} = hdbkit_other:DATABASE", "twice = hdbkit_other:DATABASE")
    install("second", tmp_path / "b", "twice = hdbkit_other:DATABASE")
    assert database(own).kind == own
    assert set(unusable()) == {"twice"}
    assert "both have a database 'twice'; remove one of them" in unusable()["twice"]


@pytest.mark.parametrize("name", ["Acme", "my-db", "1db", "", "a" * 40])
def test_a_name_that_cannot_be_a_kind_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be a kind of database; use 2 to 31"):
        write_engine(name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_skeleton_overwrites_nothing_and_takes_no_name_twice(tmp_path: Path, command: HdbkitCommand) -> None:
    with pytest.raises(InputError, match="already; choose another name"):
        write_engine(built_in()[0], tmp_path / "new")
    (tmp_path / "mine").write_text("")
    with pytest.raises(InputError, match="is not empty; name a new folder"):
        write_engine("acme", tmp_path)
    said = command("engine", "new", "acme", "--folder", str(tmp_path / "new"))
    assert said.code == 0
    assert f"hdbkit engine check acme:///check.db; {tmp_path / 'new' / 'README.md'} has the steps" in said.out
