"""The schema of a user-defined workload: its parameters, its parts, and how it is found again."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from hdbkit.config import SweepSpec, Target, WorkloadSpec
from hdbkit.config.specs.custom import CustomSpec
from hdbkit.contracts import BuildLog, Schema, StatementLoad, TableLoad
from hdbkit.errors import ConfigErrors, HalfBuilt, SchemaProblem
from hdbkit.experiment.kinds.sweep.plan import plan_sweep
from hdbkit.workloads import specification, workload
from hdbkit.workloads.present import schema_in
from tests.unit.own_workload import SQL, YAML, folder


def test_a_sweep_names_the_folder_and_its_parameters(tmp_path: Path) -> None:
    path = folder(tmp_path)
    file = tmp_path / "sweep.yaml"
    file.write_text(
        f"settings: {{a: [1, 2]}}\nload: {{weights: {{look: 1}}}}\n"
        f"workload: {{kind: custom, folder: {path}, parameters: {{rows: 5}}}}\n"
    )
    spec = SweepSpec.read(file).workload
    assert isinstance(spec, CustomSpec)
    assert spec.parameters == {"rows": 5}


def test_parameters_can_be_a_factor_of_a_sweep(tmp_path: Path) -> None:
    path = folder(tmp_path)
    file = tmp_path / "sweep.yaml"
    file.write_text(
        f"factors: {{parameters: [{{rows: 5}}, {{rows: 7}}]}}\nworkload: {{kind: custom, folder: {path}}}\n"
    )
    plan = plan_sweep(Target(kind="nulldb"), SweepSpec.read(file), "s")
    specs = [plan.workload_of(one) for one in plan.runs[:2]]
    assert sorted(one.parameters["rows"] for one in specs if isinstance(one, CustomSpec)) == [5, 7]


BUILT_YAML = """\
schema_name: things
parameters: {rows: 10, size: 2}
operations: {look: {}}
variables: {id: {uniform: {max: size}}}
tables: {things: {rows: rows, columns: {id: id}}}
"""
BUILT_SQL = """\
-- name: look
SELECT 1 FROM things
-- name: create_things
CREATE TABLE things (id INT)
"""


class Recorded:
    """A schema in a database, with the record of its build."""

    target = Target(kind="nulldb", database="x", name="lab")
    session = None

    def __init__(self, spec: WorkloadSpec, finished: bool = True) -> None:
        self._log = BuildLog(True, frozenset({"things"}), workload(spec).record, finished, {"things-0": 10})

    def log(self) -> BuildLog:
        """The state of the build."""
        return self._log

    def claim(self) -> bool:
        """Nobody else builds it."""
        return True


def found(asked: WorkloadSpec, built: WorkloadSpec, finished: bool = True) -> WorkloadSpec:
    """What is found where ``built`` was built, compared with what is asked for."""
    schema = cast(Schema, Recorded(built, finished))
    return schema_in(schema, schema.target, workload(asked))


def test_a_schema_is_found_as_it_was_built(tmp_path: Path) -> None:
    path = folder(tmp_path, BUILT_YAML, BUILT_SQL)
    built = specification(path, parameters={"rows": 5}, seed=3, partitions=8)
    assert found(built, built) == built
    assert found(specification(path), built) == built
    assert found(built.identity, built) == built
    for other in ({"parameters": {"size": 3}}, {"parameters": {}}, {"partitions": 4}, {"seed": 1}):
        with pytest.raises(SchemaProblem, match=f"has {next(iter(other))} .*, but the plan needs"):
            found(specification(path, **other), built)


@pytest.mark.parametrize(
    ("written", "instead", "is_same"),
    [
        ("SELECT 1", "SELECT 2", True),
        ("{look: {}}", "{look: {weight: 3}}", True),
        ("(id INT)", "(id BIGINT)", False),
        ("rows: rows", "rows: 2 * rows", False),
        ("max: size", "max: 2 * size", False),
    ],
)
def test_only_a_change_of_what_a_build_makes_needs_another_build(
    tmp_path: Path, written: str, instead: str, is_same: bool
) -> None:
    path = folder(tmp_path, BUILT_YAML, BUILT_SQL)
    built = specification(path)
    for file in path.iterdir():
        file.write_text(file.read_text().replace(written, instead))
    if is_same:
        assert found(specification(path), built).seed == built.seed
        return
    for finished in (True, False):
        with pytest.raises(SchemaProblem, match="things was built from other tables or statements"):
            found(specification(path), built, finished)


def test_errors_advise_whole_commands_with_the_target_s_name(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    path, other = folder(tmp_path, BUILT_YAML, BUILT_SQL), folder(tmp_path / "other", BUILT_YAML, BUILT_SQL)
    drop = f"hdbkit drop lab --workload {path}"
    build = f"hdbkit build lab --workload {path} --parameters rows=5,size=2"
    built = specification(path, parameters={"rows": 5}, seed=3, partitions=8)
    with pytest.raises(HalfBuilt, match=f"run: {build} --seed 3 --partitions 8; to remove it, run: {drop}$"):
        found(specification(path), built, finished=False)
    with pytest.raises(SchemaProblem, match=f"run: {drop}, then: {build.replace('rows=5', 'rows=7')}$"):
        found(specification(path, parameters={"rows": 7}), built)
    (other / "workload.yaml").write_text(f"name: other\n{BUILT_YAML}")
    with pytest.raises(SchemaProblem, match=r"with the folder of my-work: hdbkit drop lab --workload FOLDER$"):
        found(specification(other), built)
    (path / "statements.sql").write_text(BUILT_SQL.replace("INT", "BIGINT"))
    with pytest.raises(SchemaProblem, match=f"run: {drop}, then: hdbkit build lab --workload {path}$"):
        found(specification(path), built)


def test_factors_change_only_their_own_parameters_and_find_their_schema_again(tmp_path: Path) -> None:
    path = folder(tmp_path, BUILT_YAML, BUILT_SQL)
    base = specification(path, parameters={"size": 7})
    sweep = SweepSpec(factors={"parameters": ["rows=10", "rows=1234567"], "partitions": [0, 8]}, workload=base)
    plan = plan_sweep(Target(kind="nulldb"), sweep, "s")
    specs = [plan.workload_of(one) for one in plan.runs]
    assert {(one.parameters["rows"], one.parameters["size"]) for one in specs if isinstance(one, CustomSpec)} == {
        (10, 7), (1234567, 7)
    }  # fmt: skip
    assert base in specs
    for one in specs:
        assert found(one.identity, one) == one
    assert specs[0].with_(parameters={"rows": "5.0"}).words[-1] == "rows=5,size=7"
    assert base.fields.keys() > {"parameters"} > base.identity.fields.keys() & {"parameters"}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"rows": 0.5}, r"look: \{rows\} must be a whole number, 0 or more, not 0\.5"),
        ({"rows": -5}, r"tables\.things\.rows: must be 0 or more, not -5"),
        ({"size": 0}, r"variables\.id: min \(1\) is above max \(0\)"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(tmp_path: Path, given: dict[str, float], error: str) -> None:
    path = folder(tmp_path, BUILT_YAML, BUILT_SQL.replace("SELECT 1", "SELECT {rows}"))
    with pytest.raises(ConfigErrors, match=error):
        specification(path, parameters=given)


def test_a_table_is_loaded_in_parts_and_then_by_statements(tmp_path: Path) -> None:
    tables = "schema_name: s\ntables: {things: {rows: 250000, columns: {id: number, content: 7, extra: null}}}\n"
    variables = YAML.replace("variables:", "variables:\n  number: {sequence: {start: 10}}")
    sql = SQL + "-- name: create_things\nCREATE TABLE things (id INT);\n"
    sql += "-- name: load_rest\nINSERT INTO things (id) VALUES (0);\n"
    work = workload(specification(folder(tmp_path, variables + tables, sql)))
    assert [(part.key, part.rows) for part in work.parts()] == [
        ("things-0", 100_000), ("things-1", 100_000), ("things-2", 50_000), ("load_rest", 0)
    ]  # fmt: skip
    (last,) = work.part("things-2")
    assert isinstance(last, TableLoad)
    rows = b"".join(last.chunks).decode().splitlines()
    assert (rows[0], rows[-1]) == ("200010\t7\t\\N", "250009\t7\t\\N")
    assert list(work.part("load_rest")) == [StatementLoad("load_rest")]


def test_a_table_whose_name_begins_like_a_loading_statement_is_loaded_in_parts(tmp_path: Path) -> None:
    yaml = YAML + "schema_name: s\ntables: {load_x: {rows: 3, columns: {id: row}}}\n"
    work = workload(
        specification(folder(tmp_path, yaml, SQL + "-- name: create_load_x\nCREATE TABLE load_x (id INT)\n"))
    )
    assert [part.key for part in work.parts()] == ["load_x-0"]
    (part,) = work.part("load_x-0")
    assert isinstance(part, TableLoad)
    assert b"".join(part.chunks) == b"1\n2\n3\n"


def test_words_of_the_build_and_parameters_stand_in_one_statement(tmp_path: Path) -> None:
    path = folder(tmp_path, BUILT_YAML, BUILT_SQL.replace("(id INT)", "(id INT) {rows} {partitions}"))
    statements = workload(specification(path)).scope(("ansi", "postgresql")).statements
    assert statements["create_things"].text.endswith("10 {partitions}")
    assert "{table}" in statements["count_rows"].text
