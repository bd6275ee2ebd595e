"""The folder of a user-defined workload: its content, and all errors in its files together, with line numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from hdbkit.config import Load, SweepSpec, Target, WorkloadSpec
from hdbkit.config.metric import Better
from hdbkit.contracts import StatementLoad, TableLoad
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.sweep_plan import plan_sweep
from hdbkit.workloads import specification, workload
from hdbkit.workloads.custom.spec import CustomSpec
from tests.architecture.source_tree import ROOT

EXAMPLES = ROOT / "params" / "workloads"
YAML = """\
parameters: {rows: 1000}
operations:
  look: {weight: 3}
  change: {statements: [change, note]}
variables:
  id: {uniform: {max: 10 * rows}}
  text: {text: {max: 9}}
"""
SQL = """\
-- name: look
SELECT content FROM things WHERE id = :id;
-- name: change
UPDATE things SET content = :text WHERE id = :id;
-- name: note
INSERT INTO notes VALUES (:id);
"""


def folder(path: Path, yaml: str = YAML, sql: str = SQL, **others: str) -> Path:
    """A workload in a new folder; ``others`` are SQL by dialect."""
    path = path / "my-work"
    path.mkdir()
    (path / "workload.yaml").write_text(yaml)
    (path / "statements.sql").write_text(sql)
    for dialect, text in others.items():
        (path / dialect).mkdir()
        (path / dialect / "own.sql").write_text(text)
    return path


def errors(path: Path) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        specification(path)
    return [f"{one.line} {one.where}: {one.what}" for one in caught.value.problems]


def test_a_folder_makes_a_specification_that_needs_the_folder_no_more(tmp_path: Path) -> None:
    path = folder(tmp_path)
    spec = specification(path)
    (path / "statements.sql").unlink()
    again = WorkloadSpec.model_validate_json(spec.model_dump_json())
    assert again == spec
    work = workload(again)
    assert (work.title, work.slug, work.operations) == ("my-work", "my-work", ("look", "change"))
    assert work.scope(("any",)).statements["note"].text == "INSERT INTO notes VALUES (:id)"


def test_an_engine_s_own_statement_replaces_the_one_for_all(tmp_path: Path) -> None:
    spec = specification(folder(tmp_path, anysql="-- name: look\nSELECT 1 WHERE 1 = :id"))
    assert workload(spec).scope(("anysql",)).statements["look"].text == "SELECT 1 WHERE 1 = :id"
    assert workload(spec).scope(("other",)).statements["look"].text.startswith("SELECT content")


def test_all_errors_of_all_files_are_reported_together_with_lines(tmp_path: Path) -> None:
    yaml = YAML.replace("weight: 3", "weight: -3").replace("note]", "nota]") + "details: [idd]\ncolour: red\n"
    sql = SQL.replace(":text", ":txt") + "-- name: lonely\nSELECT {row}\n"
    found = errors(folder(tmp_path, yaml, sql))
    assert found == [
        "3 workload.yaml: operations.look.weight: must be 0 or more, not -3",
        "4 workload.yaml: operations.change.statements: there is no statement 'nota' in the SQL files. "
        "Did you mean 'note'?",
        "8 workload.yaml: details: 'idd' is not a variable. Did you mean 'id'?",
        "9 workload.yaml: colour: unknown key.",
        "3 statements.sql: change: :txt is not a variable. Did you mean 'text'?",
        "5 statements.sql: note: no operation uses this statement "
        "(others begin with create_..., index_..., load_..., check_..., key_..., count_...)",
        "7 statements.sql: lonely: {row} is not a parameter. Did you mean 'rows'?",
        "7 statements.sql: lonely: no operation uses this statement "
        "(others begin with create_..., index_..., load_..., check_..., key_..., count_...)",
    ]


@pytest.mark.parametrize(
    ("written", "instead", "error"),
    [
        ("{uniform: {max: 10 * rows}}", "{}", "give exactly one of uniform, normal"),
        ("{uniform: {max: 10 * rows}}", "{uniform: {max: 1}, key: {table: t, column: c}}", "not uniform and key"),
        ("max: 10 * rows", "max: 10 *", "is not a valid expression"),
        ("max: 10 * rows", "min: 1", "max: is required"),
        ("{rows: 1000}", "{rows: many}", "rows"),
        ("operations:", "metric: {name: p95}\noperations:", "title: is required"),
        (
            "operations:",
            "metric: {name: x, title: x, unit: x, operations: [lok]}\noperations:",
            "there is no operation 'lok'. Did you mean 'look'?",
        ),
        ("operations:", "tables: {things: {rows: 1, columns: {id: idd}}}\noperations:", "'idd' is not a variable"),
        (
            "operations:",
            "tables: {things: {rows: 1, columns: {id: id}}}\noperations:",
            "no statement 'create_things'",
        ),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(tmp_path: Path, written: str, instead: str, error: str) -> None:
    assert any(error in one for one in errors(folder(tmp_path, YAML.replace(written, instead))))


def test_a_missing_folder_and_a_missing_file_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no workload 'nowhere' \(known: .*, or a folder that has one\)"):
        specification("nowhere")
    with pytest.raises(InputError, match=r"there is no file .*workload\.yaml"):
        specification(tmp_path)


def test_a_sweep_names_the_folder_and_its_parameters(tmp_path: Path) -> None:
    path = folder(tmp_path)
    file = tmp_path / "sweep.yaml"
    file.write_text(
        f"settings: {{a: [1, 2]}}\nload: {{weights: {{look: 1}}}}\n"
        f"workload: {{kind: custom, folder: {path}, parameters: {{rows: 5}}}}\n"
    )
    spec = SweepSpec.read(file).workload
    assert isinstance(spec, CustomSpec)
    assert spec.values == {"rows": 5}


def test_parameters_can_be_a_factor_of_a_sweep(tmp_path: Path) -> None:
    path = folder(tmp_path)
    file = tmp_path / "sweep.yaml"
    file.write_text(
        f"factors: {{parameters: [{{rows: 5}}, {{rows: 7}}]}}\nworkload: {{kind: custom, folder: {path}}}\n"
    )
    plan = plan_sweep(Target(kind="nulldb"), SweepSpec.read(file), "s")
    specs = [plan.workload_of(one) for one in plan.runs[:2]]
    assert sorted(one.values["rows"] for one in specs if isinstance(one, CustomSpec)) == [5, 7]


def test_an_operation_needs_no_more_than_its_name(tmp_path: Path) -> None:
    spec = specification(folder(tmp_path, YAML.replace("look: {weight: 3}", "look:")))
    assert isinstance(spec, CustomSpec)
    assert spec.definition.operations["look"].weight == 1


def test_only_whole_numbers_are_details(tmp_path: Path) -> None:
    (error,) = errors(folder(tmp_path, YAML + "details: [text]\n"))
    assert "'text' is not a whole number" in error


def test_a_table_is_loaded_in_parts_and_then_by_statements(tmp_path: Path) -> None:
    tables = "tables: {things: {rows: 250000, columns: {id: number, content: 7, extra: null}}}\n"
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
    yaml = YAML + "tables: {load_x: {rows: 3, columns: {id: row}}}\n"
    work = workload(
        specification(folder(tmp_path, yaml, SQL + "-- name: create_load_x\nCREATE TABLE load_x (id INT)\n"))
    )
    assert [part.key for part in work.parts()] == ["load_x-0"]
    (part,) = work.part("load_x-0")
    assert isinstance(part, TableLoad)
    assert b"".join(part.chunks) == b"1\n2\n3\n"


def test_a_parameter_or_an_operation_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path)
    with pytest.raises(InputError, match=r"has no parameter 'rowz' \(it has: rows\)"):
        workload(specification(path, parameters={"rowz": 1}))
    work = workload(specification(path))
    with pytest.raises(ConfigErrors, match=r"there is no operation 'lok' \(known: look, change\)"):
        work.load(Load(weights={"lok": 1}))
    assert work.mix(Load(weights={"look": 1})) == {"look": 1, "change": 0}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_every_example_is_read(name: str) -> None:
    work = workload(specification(EXAMPLES / name))
    assert work.metric.better is Better.HIGHER
    assert sum(part.rows for part in work.parts()) >= 100_000
