"""The check of an engine: what it lacks, the rules that it keeps, and that it leaves nothing behind."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hdbkit import api
from hdbkit.config import Target, TprocCSpec
from hdbkit.contracts import Bench, Capability, Rule
from hdbkit.databases import database
from hdbkit.engines.questions import ask_server, wrong_rows
from hdbkit.engines.rule_check import _RECORD, Tried, try_rules
from hdbkit.errors import ErrorClass, InputError, SchemaProblem
from hdbkit.workloads import rules, workload
from tests.conftest import HdbkitCommand

WORK = workload(TprocCSpec())
FILE = "sqlite"
"""An engine whose database is a file."""
ALL = rules(WORK.spec.kind)
SOME = tuple(one for one in ALL if one.name in ("what is committed stays", "order ids are taken once (client)"))


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return Target(kind=FILE, database=str(tmp_path / "file.db"))


def tables(target: Target) -> list[str]:
    with closing(sqlite3.connect(str(target.database))) as file:
        return [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def test_rules_are_kept_and_nothing_is_left(target: Target) -> None:
    assert list(try_rules(target, WORK, SOME)) == [Tried(one.name, True) for one in SOME]
    assert tables(target) == []


def test_a_broken_rule_states_what_was_found_and_the_others_are_tried(target: Target) -> None:
    def differs(bench: Bench) -> None:
        bench.emptied().query("no_such_statement")

    def fails(bench: Bench) -> None:
        assert bench.emptied().query("count_item") == [(0,)]
        raise sqlite3.OperationalError("an error of the driver")

    given = (Rule("asks", differs), Rule("fails", fails), Rule("needs", fails, frozenset({Capability.ADMIN})), *SOME)
    asks, failed, needs, *others = try_rules(target, WORK, given)
    assert asks.kept is False
    assert "no_such_statement" in asks.detail
    assert failed.detail.startswith("OperationalError: an error of the driver (test_engine_check.py:")
    assert failed.detail.endswith(", after count_item)")
    assert needs == Tried("needs", None, "the engine lacks admin")
    assert all(one.kept for one in others)
    assert tables(target) == []


def test_a_database_with_other_tables_is_not_touched(target: Target) -> None:
    with closing(sqlite3.connect(str(target.database))) as file:
        file.execute("CREATE TABLE mine (a INTEGER)")
    with pytest.raises(InputError, match=r"did not create for a check \(mine\); nothing was changed"):
        list(try_rules(target, WORK, SOME))
    assert tables(target) == ["mine"]


def test_a_built_schema_is_not_touched(target: Target) -> None:
    engine = database(target)
    with closing(engine.schema(target, WORK)) as schema:
        schema.create(WORK.record)
    before = tables(target)
    with pytest.raises(InputError, match="nothing was changed"):
        list(try_rules(target, WORK, SOME))
    assert tables(target) == before


def test_what_a_killed_check_left_is_removed(target: Target) -> None:
    with closing(database(target).schema(target, WORK)) as schema:
        schema.create(_RECORD)
    assert tables(target)
    assert all(one.kept for one in try_rules(target, WORK, SOME))
    assert tables(target) == []


def test_two_checks_of_one_database_exclude_each_other(target: Target) -> None:
    first = try_rules(target, WORK, SOME)
    next(first)
    with pytest.raises(SchemaProblem, match="another process"):
        list(try_rules(target, WORK, SOME))
    first.close()  # type: ignore[attr-defined]
    assert tables(target) == []


def test_an_engine_without_tables_is_compared_and_asked() -> None:
    found = api.check_engine(Target(kind="nulldb", database="check"))
    states = found.groupby("part")["state"].unique()
    assert set(states["rule"]) == {"not applicable"}
    assert not {"missing", "wrong"} & set(found["state"])
    assert "answered" in set(states["server"])


def test_a_missing_operation_fails_the_check(
    target: Target, command: HdbkitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("engine", "check", f"{FILE}:///{target.database}", "--no-rules", "--json")
    assert command(*given).code == 0
    engine = type(database(FILE))
    monkeypatch.setattr(engine, "capabilities", engine.capabilities | {Capability.STORED_ROUTINES})
    said = command(*given)
    assert said.code == 1
    missing = {row["name"] for row in json.loads(said.out) if row["state"] == "missing"}
    assert {"list_routines", "create_routine_payment", "call_payment"} <= missing
    assert not Path(str(target.database)).exists()


def test_engines_are_compared_by_capabilities_and_optional_operations() -> None:
    found = api.list_engines().set_index("name")
    assert found.loc["SQL", FILE] == "yes"
    assert found.loc["SERVER", FILE] == "no"
    assert found.loc["rest_left", FILE] == ""  # belongs to settings, which it has none of


def test_operations_of_a_folder_are_listed_and_another_folder_is_an_error() -> None:
    assert set(api.operations("custom")["name"]) == {"key_range", "count_rows"}
    with pytest.raises(InputError, match="no operation belongs to 'costum'; folders: server, "):
        api.operations("costum")


def test_the_list_of_engines_states_what_each_capability_means_on_a_narrow_screen(
    command: HdbkitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hdbkit.cli.show.console.width", 80)
    words = " ".join(command("engine", "list").out.split())
    assert "capability LOCK_TIMEOUT waiting for a lock can be limited" in words


@pytest.mark.parametrize("given", ["primary  ", "leader"])
def test_a_role_that_is_none_is_reported_by_the_check_and_is_no_crash(
    target: Target, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    engine = database(FILE)
    monkeypatch.setattr(type(engine), "asked", lambda *_: [(given,)])
    with pytest.raises(InputError, match=f"must return one of primary, standby, read-only, not '{given}'"):
        engine.role(None)  # type: ignore[arg-type]


def test_an_answer_has_the_declared_columns_and_no_padded_names() -> None:
    assert wrong_rows([("commits", 1), ("rollbacks", 2)], ("name", "value")) == ""
    assert wrong_rows([(1, 2, 3)], ("limit", "...")) == ""
    assert wrong_rows([("commits",)], ("name", "value")) == "1 columns instead of 2 (name, value)"
    assert "'commits  '; cast it to VARCHAR" in wrong_rows([("commits  ", 1)], ("name", "value"))


def test_every_question_to_the_server_is_asked_and_a_wrong_answer_fails_the_check(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(dict(ask_server(target)).values()) == {""}
    monkeypatch.setattr(type(database(FILE)), "version", lambda *_: {}["version"])
    assert dict(ask_server(target))["server_version"] == "KeyError: 'version'"


@pytest.mark.parametrize(
    ("capabilities", "kept"), [(frozenset(), True), (frozenset({Capability.LOCK_ERRORS}), False)]
)
def test_a_lock_timeout_may_be_a_retried_error_where_they_have_one_code(
    target: Target, monkeypatch: pytest.MonkeyPatch, capabilities: frozenset[Capability], kept: bool
) -> None:
    engine = type(database(FILE))
    monkeypatch.setattr(engine, "capabilities", engine.capabilities | capabilities)
    monkeypatch.setattr(engine, "described", lambda *_: (ErrorClass.DEADLOCK, "1", "locked"))
    rule = next(one for one in ALL if one.name == "waiting too long for a lock is a lock timeout")
    assert [one.kept for one in try_rules(target, WORK, [rule])] == [kept]
