"""The declared operations are all that code asks by name, and all that ``schemas/`` has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hdbkit.contracts import OPERATIONS, Capability, Operation, declared
from hdbkit.contracts.operations import SUBJECTS
from hdbkit.databases import built_in, database
from hdbkit.engines.gaps import asked, lacking
from hdbkit.sql import folders, parsed, statements, variants
from tests.architecture.source_tree import ROOT, in_a_package_of_engines, modules, nodes, strings, within
from tests.architecture.source_tree import parsed as tree_of

CALLS = {"ask": 0, "query": 0, "call": 0, "asked": 1, "in_scope": 2, "find": 2}
"""What asks an engine for an operation, and the argument that names it."""
NO_SESSIONS = ("_sampler",)
"""Other objects with such a method."""
LOADS = "load_"
"""The commands of bulk loads, which are their engine's own."""
KNOWN = asked()


def is_own(path: Path) -> bool:
    """A file that belongs to one engine or driver, or to the probes of these: its operations are its own affair."""
    package, name = path.relative_to(ROOT).parts[1], path.stem
    if package == "databases":
        return in_a_package_of_engines(path) or path.stem == "probing"
    return package == "servers" and (name in built_in() or name.startswith("_mysqld"))


def names_asked(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The operations that a module asks, with ``<any>`` for what is only known when it runs."""
    for call in (node for node in nodes(tree) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        place = CALLS.get(name)
        if place is None or len(call.args) <= place:
            continue
        receiver = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if receiver.endswith(NO_SESSIONS):
            continue
        given = call.args[place]
        chosen = [given.body, given.orelse] if isinstance(given, ast.IfExp) else [given]
        for one in chosen:
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.isidentifier():
                yield call.lineno, one.value
            elif isinstance(one, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "<any>" for part in one.values)
                name = "".join(map(str, parts))
                if name.replace("<any>", "x").isidentifier():  # else it is a question to a user
                    yield call.lineno, name


def is_declared(name: str, operations: tuple[Operation, ...]) -> bool:
    """Whether an operation has this name, or one that a name with ``<any>`` can become."""
    if "<any>" not in name:
        return declared(operations, name) is not None
    pattern = re.compile(r"\w+".join(map(re.escape, name.split("<any>"))))
    return any(pattern.fullmatch(one.name.replace("<", "").replace(">", "")) for one in operations)


def allowed(path: Path) -> tuple[Operation, ...]:
    """What a module may ask: all operations, or in a workload those of the core and its own."""
    parts = path.relative_to(ROOT).parts
    own = [one for folder, listed in KNOWN.items() if folder.split(".")[0] in parts for one in listed]
    return (*OPERATIONS, *own) if parts[1] == "workloads" else tuple(one for each in KNOWN.values() for one in each)


def test_every_operation_that_code_asks_is_declared() -> None:
    found = [
        f"{within(path)}:{line}: {name}"
        for path in modules("hdbkit")
        if not is_own(path)
        for line, name in names_asked(tree_of(path))
        if not is_declared(name, allowed(path))
    ]
    assert not found


def test_what_asks_is_seen() -> None:
    source = (
        'session.ask("one")\nself.session.query(f"two_{x}")\nself.asked(session, "three")\nx.ask("a" if y else "b")'
    )
    assert [name for _, name in names_asked(ast.parse(source))] == ["one", "two_<any>", "three", "a", "b"]
    asking = {path.stem for path in modules("hdbkit") if [*names_asked(tree_of(path))] and not is_own(path)}
    assert asking >= {
        "database",
        "sql_schema",
        "sql_control",
        "folder_control",
        "running_settings",
        "client",
        "consistency",
    }
    assert not is_declared("no_such_operation", OPERATIONS)
    assert not is_declared("no_such_<any>", OPERATIONS)
    assert is_declared("use_storage_engine", OPERATIONS)


def test_every_declared_operation_is_asked_or_in_schemas() -> None:
    """What nobody asks any more leaves the list."""
    words = {
        word for path in modules("hdbkit") if "contract.py" not in path.name for _, word in strings(tree_of(path))
    }
    there = {name for kind in built_in() for folder in KNOWN for name in statements(database(kind).dialects, folder)}
    names = {one.name for each in KNOWN.values() for one in each if "<" not in one.name}
    assert names - words - there == set()


def test_every_statement_is_declared_or_its_engines_own() -> None:
    trees = [tree_of(path) for path in modules("hdbkit") if is_own(path)]
    own = {word for tree in trees for _, word in strings(tree)}
    patterns = [name.split("<any>") for tree in trees for _, name in names_asked(tree) if "<any>" in name]
    made = re.compile("|".join(r"\w+".join(map(re.escape, parts)) for parts in patterns))
    assert not made.fullmatch("no_such_statement")
    found = []
    for path in sorted((ROOT / "schemas").glob("*/*/**/*")):
        if path.suffix not in (".sql", ".lua", ".commands"):
            continue
        folder = ".".join(path.relative_to(ROOT / "schemas").parts[1:-1])
        listed = [one for name, each in KNOWN.items() if f"{folder}.".startswith(f"{name}.") for one in each]
        found += [
            f"{within(path)}: {name}"
            for variant in variants(path)
            for name in parsed(path, variant)
            if declared([*listed, *OPERATIONS], name) is None
            and not (name in own or made.fullmatch(name))
            and not name.startswith(LOADS)
        ]
    assert not found


@pytest.mark.parametrize("kind", built_in())
def test_an_engine_has_every_operation_that_is_required(kind: str) -> None:
    assert not [gap for gap in lacking(database(kind)) if gap.operation.required]


@pytest.mark.parametrize("kind", built_in())
def test_a_statement_takes_the_parameters_that_are_declared(kind: str) -> None:
    engine, wrong = database(kind), []
    for folder in folders(engine.dialects):
        for name, statement in statements(engine.dialects, folder).items():
            one = declared(KNOWN[folder], name) or declared(OPERATIONS, name)
            if one is None or "<" in one.name:
                continue
            if not {*statement.parameters, *statement.words} <= {*one.parameters}:
                wrong.append(
                    f"{folder}/{name}: {statement.parameters} {[*statement.words]}, declared {one.parameters}"
                )
            if one.in_order and one.needs <= engine.capabilities and statement.parameters != one.parameters:
                wrong.append(f"{folder}/{name}: the order is {statement.parameters}, declared {one.parameters}")
    assert not wrong


def test_an_operation_is_declared_once_and_states_what_is_missing_without_it() -> None:
    for listed in KNOWN.values():
        names = [one.name for one in listed]
        assert len(names) == len({*names})
    for one in (one for each in KNOWN.values() for one in each):
        assert one.purpose, one.name
        assert not one.purpose.endswith("."), one.name
    assert not [one.name for one in SUBJECTS["server"] if one.required]
    assert all(Capability.SETTINGS in one.needs for one in SUBJECTS["settings"])


def test_a_missing_statement_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine whose folder has no stored routines lacks each of them; optional gaps state a consequence."""
    plain = next(one for one in map(database, built_in()) if Capability.STORED_ROUTINES not in one.capabilities)
    more = frozenset({*plain.capabilities, Capability.STORED_ROUTINES, Capability.SETTINGS})
    monkeypatch.setattr(type(plain), "capabilities", more)
    gaps = lacking(plain)
    required = {gap.operation.name for gap in gaps if gap.operation.required}
    assert {"call_payment", "create_routine_payment", "list_routines", "control_settings"} <= required
    assert all(gap.operation.without for gap in gaps if gap.operation.name not in required)
