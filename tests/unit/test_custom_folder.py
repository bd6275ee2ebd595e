"""The folder of a user-defined workload: its content, and all errors in its files together, with line numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import cast

import pytest

from hdbkit.config import CustomLoad, spec_from
from hdbkit.config.metric import Better
from hdbkit.config.specs.custom import CustomSpec
from hdbkit.contracts import Session, TableLoad
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.workloads import specification, workload
from tests.architecture.source_tree import ROOT
from tests.unit.own_workload import SQL, YAML, errors, folder

EXAMPLES = ROOT / "params" / "workloads"
WITH_MORE = YAML.replace("note]", "note, more]")


def test_a_folder_makes_a_specification_that_needs_the_folder_no_more(tmp_path: Path) -> None:
    path = folder(tmp_path)
    spec = specification(path)
    (path / "statements.sql").unlink()
    again = spec_from(json.loads(spec.model_dump_json()))
    assert again == spec
    work = workload(again)
    assert (work.title, work.spec.slug, work.operations) == ("my-work", "my-work", ("look", "change"))
    assert work.scope(("ansi", "any")).statements["note"].text == "INSERT INTO notes VALUES (:id)"


def test_an_engine_s_own_statement_replaces_the_one_for_all(tmp_path: Path) -> None:
    spec = specification(folder(tmp_path, mysql="-- name: look\nSELECT 1 WHERE 1 = :id"))
    assert workload(spec).scope(("mysql",)).statements["look"].text == "SELECT 1 WHERE 1 = :id"
    assert workload(spec).scope(("ansi", "other")).statements["look"].text.startswith("SELECT content")


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
    ("more", "error"),
    [
        ("  a: {zipf: {max: rowz}}", "variables.a: 'rowz' is not a parameter. Did you mean 'rows'?"),
        ("  a: {text: {max: 0}}", "variables.a.text: min (1) is above max (0)"),
        (
            "  a: {list: {values: [1], weights: [-1]}}",
            "variables.a.list: weights must be 0 or more, and at least one",
        ),
        ("  a: {normal: {max: 9, mean: 5, stddev: -1}}", "variables.a: stddev must be 0 or more, not -1"),
        ("  a: {normal: {min: 50, max: 51, mean: 0, stddev: 1}}", "variables.a: almost no value of the distribution"),
        ("  a: {exponential: {max: 9, mean: -2}}", "variables.a: mean must be 0 or more, not -2"),
        ("  a: {sequence: {start: 9, max: 3}}", "variables.a: max is below start (9)"),
        ("  Id: {uniform: {max: 3}}", "variables.Id: must have only lower-case letters, digits and _"),
        ("scale: '{rowz} rows'", "scale: {rowz} is not a parameter. Did you mean 'rows'?"),
        ("scale: '{rows!r:>1000000000}'", "scale: '{rows!r:>1000000000}' must be a text with parameters in braces"),
        ("scale: '{rows:>9}'", "scale: '{rows:>9}' must be a text with parameters in braces"),
        ("scale: '{}'", "scale: '{}' must be a text with parameters in braces"),
        (f"  a: {{uniform: {{max: 1{'0' * 400}}}}}", "variables.a: the number is beyond the range of 64-bit"),
        ("  a: {uniform: {max: 9e999 * 9e999}}", "variables.a: '9e999 * 9e999' is beyond the range of 64-bit"),
        ("  a: {normal: {max: 9, mean: 9e999, stddev: 1}}", "variables.a: '9e999' is beyond the range of 64-bit"),
        ("  a: {normal: {max: 9, mean: 1, stddev: 9e999}}", "variables.a: '9e999' is beyond the range of 64-bit"),
        (f"  a: {{normal: {{max: {2**63 - 1}, mean: {2**63 - 1}, stddev: 1}}}}", "variables.a: 1 to"),
        ("  a: {exponential: {max: 9, mean: 9e999}}", "variables.a: '9e999' is beyond the range of 64-bit"),
        ("  a: {sequence: {start: 9e999}}", "variables.a: '9e999' is beyond the range of 64-bit"),
        ("  a: {sequence: {max: 9e999}}", "variables.a: '9e999' is beyond the range of 64-bit"),
        (f"  a: {{sequence: {{start: -9, max: {2**63 - 1}}}}}", "variables.a: start to max is beyond the range"),
        (f"  a: {{sequence: {{start: {2**63 - 9}}}}}", "variables.a: its 1,000,000,000,000th number is beyond"),
        ("  a: {sequence: {step: 100000000}}", "variables.a: its 1,000,000,000,000th number is beyond the range"),
        (f"  a: {{sequence: {{step: {2**63}}}}}", "variables.a.sequence.step: must be 9223372036854775807 or less"),
        (
            "  a: {list: {values: [1, 2], weights: [1.0e+308, 1.0e+308]}}",
            "variables.a.list: weights must be 1000000000",
        ),
        (f"  a: {{nurand: {{max: 9, a: {2**63}}}}}", "variables.a.nurand.a: must be 4611686018427387903 or less"),
        (f"  a: {{nurand: {{max: {2**62}, a: 1}}}}", "variables.a: 1 to"),
        ("  a: {zipf: {min: 0, max: 1000000000000000}}", "variables.a: 0 to 1000000000000000 has more than"),
        ("  a: {text: {max: 10001}}", "variables.a.text.max: must be 10000 or less"),
        ("  a: {uniform: {max: 1s}}", "variables.a: '1s' is a time; give a number without unit"),
        ("  a: {uniform: {max: 2 * 1MB}}", "variables.a: '2 * 1MB' is a size; give a number without unit"),
        ("  a: {uniform: {max: true}}", "variables.a.uniform.max: must be a number, not true"),
        (
            "tables: {look: {rows: 10000000001, columns: {id: row}}}",
            "tables.look.rows: must be 10,000,000,000 or less",
        ),
        ("tables: {look: {rows: 9e999, columns: {id: row}}}", "tables.look.rows: '9e999' is beyond the range"),
        (
            "  a: {key: {table: t, column: c}}\ntables: {look: {rows: 1, columns: {id: a}}}",
            "tables.look.columns.id: 'a' is a key, which is read from a table in a run",
        ),
        ("scale: '{rows rows'", "scale: '{rows rows' must be a text with parameters in braces"),
        ("  valid: {uniform: {max: 3}}\ndetails: [valid]", "details: 'valid' is a column of every result"),
        ("  wait_us: {uniform: {max: 3}}\ndetails: [wait_us]", "details: 'wait_us' is a column of every result"),
        ("details: [text]", "details: 'text' is not a whole number"),
        ("tables: {look: {rows: 1, columns: {id: row}}}", "tables: need schema_name"),
        ("tables: {look: {rows: rowz, columns: {id: row}}}", "tables.look.rows: 'rowz' is not a parameter"),
        ("tables: {look: {rows: -5, columns: {id: row}}}", "tables.look.rows: must be 0 or more, not -5"),
        ("metric: {name: x, unit: x}", "metric.title: is required; example: orders per second"),
        ("tables: {look: {rows: 1, columns: {}}}", "tables.look.columns: must not be empty; example: {id: row"),
        ("metric: {name: x, title: x, unit: s, measure: quantile}", "metric.unit: a quantile is in ms, not s"),
        ("metric: {name: x, title: x, unit: ms, measure: geometric_mean}", "metric.unit: a geometric_mean is in s"),
        (
            "metric: {name: x, title: x, unit: ms, measure: quantile, counter: look}",
            "metric.counter: belongs to a rate; a quantile is measured by the clients",
        ),
    ],
)
def test_errors_of_the_definition_have_their_line_and_hide_no_others(tmp_path: Path, more: str, error: str) -> None:
    found = errors(folder(tmp_path, f"{YAML}{more}\ncolour: red\n"))
    line = 8 + more.count("\n")
    assert any(one.startswith(f"{line} workload.yaml: {error}") for one in found)
    assert f"{line + 1} workload.yaml: colour: unknown key." in found


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ("-- name: look\nSELECT 1", "look: a statement of this name is in statements.sql too; remove one of them"),
        ("-- name: check_a\nSELECT {rows2}", "check_a: {rows2} is not a parameter. Did you mean 'rows'?"),
        ("-- name: check_a\nSELECT {Rows}", "check_a: {Rows} is not a parameter. Did you mean 'rows'?"),
        (
            "-- name: check_a\nSELECT {number}",
            "check_a: {number} is not a parameter. For plain braces, write \\{number}",
        ),
        ("-- name: check_a\nSELECT {half}", "check_a: {half} must be a whole number, 0 or more, not 0.5"),
        ("-- name: check_a\nSELECT :id", "check_a: :id has no value; only statements of operations have variables"),
        ("-- name: note\nSELECT :Id", "note: :Id is not a variable. Did you mean 'id'?"),
        ("-- name: count_rows\nSELECT 1", "count_rows: hdbkit has a statement of this name; rename it"),
    ],
)
def test_errors_of_the_sql_have_their_line(tmp_path: Path, more: str, error: str) -> None:
    path = folder(tmp_path, YAML.replace("rows: 1000", "rows: 1000, half: 0.5"))
    (path / "z.sql").write_text(more)
    assert f"1 z.sql: {error}" in errors(path)


def test_an_error_of_yaml_does_not_hide_errors_of_the_sql(tmp_path: Path) -> None:
    path = folder(tmp_path, "operations: [\n\n}", postgres="-- name: look\nSELECT 1")
    (path / "z.sql").write_text("-- name: look\nSELECT 1")
    assert [one.split(": ")[0] for one in errors(path)] == ["3 workload.yaml", "None postgres/own.sql", "1 z.sql"]
    (path / "workload.yaml").write_text("operations: {}\noperations: {}")
    assert [one.split(": ")[0] for one in errors(path)] == ["2 workload.yaml", "None postgres/own.sql", "1 z.sql"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT 1", "1 z.sql: text without a name: begin each statement with a line such as: -- name: read"),
        (
            "-- A comment.\n/* and\nanother */\n\nSELECT 1;\n-- name: check_a\nSELECT 1",
            "5 z.sql: text without a name",
        ),
        (
            "-- name: check_a\nSELECT 1\n-- name: check_a\nSELECT 2",
            "3 z.sql: check_a: two statements named 'check_a'",
        ),
        pytest.param("-" * (2 << 20), "None z.sql: is larger than 1 MB, the maximum", id="large"),
    ],
)
def test_an_error_of_an_sql_file_hides_no_others(tmp_path: Path, text: str, error: str) -> None:
    path = folder(tmp_path, sql=SQL.replace(":text", ":txt"))
    (path / "z.sql").write_text(text)
    first, second = errors(path)
    assert first == "3 statements.sql: change: :txt is not a variable. Did you mean 'text'?"
    assert second.startswith(error)


def test_comments_and_a_byte_order_mark_may_precede_the_first_name(tmp_path: Path) -> None:
    path = folder(tmp_path, sql=f"\ufeff-- A comment.\n\n/* and\nanother */\n{SQL}")
    assert "look" in workload(specification(path)).scope(("ansi", "any")).statements


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("START  transaction;", "START TRANSACTION"),
        ("/* all */ COMMIT", "COMMIT"),
        ("BEGIN;\nUPDATE t SET a = 1;\nEND;", "BEGIN"),
        ("UPDATE t SET a = 1; commit work;", "COMMIT WORK"),
    ],
)
def test_an_operation_sends_no_command_of_transactions(tmp_path: Path, text: str, command: str) -> None:
    (found,) = errors(folder(tmp_path, WITH_MORE, f"{SQL}-- name: more\n{text}\n"))
    assert found.startswith(f"7 statements.sql: more: {command} is sent by hdbkit, since an operation is one")


def test_a_block_may_begin_and_end(tmp_path: Path) -> None:
    """BEGIN and END of a block of statements are no transaction."""
    block = "BEGIN NOT ATOMIC\nUPDATE t SET a = CASE WHEN b THEN 1 END;\nCOMMIT;\nEND"
    path = folder(tmp_path, WITH_MORE, f"{SQL}-- name: more\n{block}\n")
    assert workload(specification(path)).scope(("ansi",)).statements["more"].text == block


@pytest.mark.parametrize(
    ("name", "slug"),
    [("My Lössung 1", "my-lossung-1"), ("2 tests", "w-2-tests"), ("注文", "w"), ("a" * 40, "a" * 28), ("b_c", "b_c")],
)
def test_a_folder_may_have_any_name(tmp_path: Path, name: str, slug: str) -> None:
    path = folder(tmp_path, YAML).rename(tmp_path / name)
    assert specification(path).slug == slug


@pytest.mark.parametrize("name", ["z.sql", "workload.yaml"])
def test_only_regular_files_are_read(tmp_path: Path, name: str) -> None:
    path = folder(tmp_path)
    (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    assert f"None {name}: cannot be read as text: it is not a regular file" in errors(path)
    (path / name).unlink()
    (path / name).symlink_to("/dev/zero")
    assert f"None {name}: cannot be read as text: it is not a regular file" in errors(path)


def test_control_characters_of_values_are_escaped_for_the_load(tmp_path: Path) -> None:
    yaml = YAML.replace("variables:", 'variables:\n  odd: {list: {values: ["a\\rb\\nc\\td\\\\e"]}}')
    yaml += "schema_name: s\ntables: {things: {rows: 1, columns: {content: odd}}}\n"
    sql = SQL + "-- name: create_things\nCREATE TABLE things (content TEXT)\n"
    (part,) = workload(specification(folder(tmp_path, yaml, sql))).part("things-0")
    assert isinstance(part, TableLoad)
    assert b"".join(part.chunks) == rb"a\rb\nc\td\\e" + b"\n"


@pytest.mark.parametrize("prefix", ["load_", "check_", "index_"])
def test_an_operation_has_no_statement_that_is_run_anyway(tmp_path: Path, prefix: str) -> None:
    name = f"{prefix}look"
    found = errors(folder(tmp_path, YAML.replace("look:", f"{name}:"), SQL.replace("name: look", f"name: {name}")))
    assert [one for one in found if f"operations.{name}" in one and f"begins with {prefix}; rename '{name}'" in one]


def test_a_misspelt_engine_is_reported(tmp_path: Path) -> None:
    assert errors(folder(tmp_path, postgres="-- name: look\nSELECT 1")) == [
        "None postgres/own.sql: there is no engine 'postgres' (known: clickhouse, db2, db2_luw, duckdb, "
        "mariadb, mysql, odbc, oracle, plsql, postgresql, sqlite, sqlserver, sqlserver_microsoft, timesten). "
        "Did you mean 'postgresql'?"
    ]


def test_statements_of_an_engine_are_built_and_checked_there_only(tmp_path: Path) -> None:
    own = "-- name: load_own\nSELECT 1\n-- name: check_own\nSELECT 0\n"
    work = workload(specification(folder(tmp_path, postgresql=own)))
    asked: list[str] = []

    class Asked:
        def ask(self, name: str) -> list[tuple[int]]:
            asked.append(name)
            return [(0,)]

    for dialects in (("postgresql",), ("mysql", "mariadb"), ()):
        is_here = ["own"] if dialects == ("postgresql",) else []
        assert [part.key for part in work.parts(dialects)] == [f"load_{one}" for one in is_here]
        assert [one.decide(cast(Session, Asked())).name for one in work.checks(dialects)] == is_here
    assert asked == ["check_own"]


def test_a_check_without_a_comment_does_not_repeat_its_name(tmp_path: Path) -> None:
    own = "-- name: check_plain\nSELECT 0;\n-- name: check_said\n-- no row is lost\nSELECT 0;\n"
    work = workload(specification(folder(tmp_path, postgresql=own)))

    class Asked:
        def ask(self, name: str) -> list[tuple[int]]:
            return [(3 if name == "check_plain" else 0,)]

    found = [one.decide(cast(Session, Asked())) for one in work.checks(("postgresql",))]
    assert [(one.name, one.detail) for one in found] == [("plain", "3 wrong"), ("said", "no row is lost: holds")]


def test_errors_name_what_the_user_wrote_and_no_class(tmp_path: Path) -> None:
    path = folder(tmp_path)
    for wrong, named in (
        (lambda: specification(path, parameters={"rowz": 1}), str(path)),
        (lambda: specification(path).with_(seed=-1), str(path)),
        (lambda: workload(specification(path)).load(CustomLoad(weights={"lok": 1})), "the load"),
        (lambda: CustomLoad(weights={"look": -1}), "the load"),
        (lambda: specification(warehouses=0), "the workload"),
    ):
        with pytest.raises(ConfigErrors) as caught:
            wrong()
        assert str(caught.value).startswith(f"{named} has 1 error; nothing was started:")


def test_a_counter_may_have_any_name(tmp_path: Path) -> None:
    metric = "metric: {name: x, title: x, unit: x, counter: total}\n"
    work = workload(specification(folder(tmp_path, YAML + metric, SQL + "-- name: total\nSELECT 1\n")))
    assert work.metric.counter == "total"


@pytest.mark.parametrize(
    ("written", "instead", "error"),
    [
        ("{uniform: {max: 10 * rows}}", "{}", "give exactly one of uniform, normal"),
        ("{uniform: {max: 10 * rows}}", "{uniform: {max: 1}, key: {table: t, column: c}}", "not uniform and key"),
        ("max: 10 * rows", "max: 10 *", "is not a valid expression"),
        ("max: 10 * rows", "min: 1", "max: is required"),
        ("{rows: 1000}", "{rows: many}", "rows"),
        ("{rows: 1000}", "{rows: true}", "parameters.rows: must be a number, not true"),
        ("{rows: 1000}", "{rows: .inf}", "parameters.rows"),
        ("{rows: 1000}", f"{{rows: 1{'0' * 400}}}", "parameters.rows: is beyond the range of 64-bit integers"),
        ("{rows: 1000}", f"{{rows: -0x{'f' * 9000}}}", "parameters.rows: is beyond the range of 64-bit integers"),
        ("weight: 3", "weight: 1.0e+308", "operations.look.weight: must be 1000000000 or less"),
        ("max: 10 * rows", "max: 1:30", "6 workload.yaml: variables.id.uniform.max: is a number of base 60 in YAML"),
        (
            "operations:",
            'title: "\\uD800"\noperations:',
            "2 workload.yaml: title: must be text that UTF-8 can encode",
        ),
        (
            "operations:",
            'notice: "\\uD800"\noperations:',
            "2 workload.yaml: notice: must be text that UTF-8 can encode",
        ),
        (
            "operations:",
            'scale: "\\uD800"\noperations:',
            "2 workload.yaml: scale: must be text that UTF-8 can encode",
        ),
        ("operations:", '"\\uD800": 1\noperations:', "a key must be text that UTF-8 can encode"),
        ("operations:", "metric: {name: p95}\noperations:", "title: is required"),
        (
            "operations:",
            "metric: {name: x, title: x, unit: x, operations: [lok]}\noperations:",
            "there is no operation 'lok'. Did you mean 'look'?",
        ),
        ("operations:", "tables: {things: {rows: 1, columns: {id: idd}}}\noperations:", "'idd' is not a variable"),
        (
            "operations:",
            "schema_name: s\ntables: {things: {rows: 1, columns: {id: id}}}\noperations:",
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


def test_an_operation_needs_no_more_than_its_name(tmp_path: Path) -> None:
    spec = specification(folder(tmp_path, YAML.replace("look: {weight: 3}", "look:")))
    assert isinstance(spec, CustomSpec)
    assert spec.definition.operations["look"].weight == 1


def test_only_whole_numbers_are_details(tmp_path: Path) -> None:
    (error,) = errors(folder(tmp_path, YAML + "details: [text]\n"))
    assert "'text' is not a whole number" in error


def test_a_parameter_or_an_operation_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path)
    with pytest.raises(InputError, match=r"has no parameter 'rowz' \(it has: rows\)"):
        workload(specification(path, parameters={"rowz": 1}))
    work = workload(specification(path))
    with pytest.raises(ConfigErrors, match=r"there is no operation 'lok' \(known: look, change\)"):
        work.load(CustomLoad(weights={"lok": 1}))
    with pytest.raises(ConfigErrors, match="the weight of look must be 0 or more, not -1"):
        CustomLoad(weights={"look": -1, "change": 2})
    with pytest.raises(ConfigErrors, match="the weight of look must be 1000000000 or less"):
        CustomLoad(weights={"look": 1e308, "change": 1e308})
    assert work.mix(CustomLoad(weights={"look": 1})) == {"look": 1, "change": 0}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_every_example_is_read(name: str) -> None:
    work = workload(specification(EXAMPLES / name))
    assert work.metric.better is Better.HIGHER
    assert sum(part.rows for part in work.parts()) >= 100_000


def test_a_statement_for_all_engines_has_the_errors_that_every_engine_sees(tmp_path: Path) -> None:
    """What is a text on one engine is none on another."""
    path = folder(tmp_path, sql=SQL.replace("VALUES (:id)", "VALUES (:id /* :a */, ':b', ':c', :e -- :f\n)"))
    assert [one.partition(": ")[2] for one in errors(path)] == [
        "note: :e is not a variable. For a plain colon, write \\:e"
    ]


def test_before_it_is_sent_a_statement_is_read_by_the_rules_of_its_engine(tmp_path: Path) -> None:
    path = folder(tmp_path, sql=SQL.replace("VALUES (:id)", "VALUES (:id, 'it\\', :x, ')"))
    work = workload(specification(path))
    assert work.scope(("ansi", "mysql")).statements["note"].parameters == ("id",)
    with pytest.raises(ConfigErrors) as caught:
        work.scope(("ansi", "postgresql"))
    assert {(one.where, one.line) for one in caught.value.problems} == {("statements.sql: note", 5)}
    assert [one.what.partition(".")[0] for one in caught.value.problems] == [
        "what begins with ' in line 1 of the statement has no end",
        ":x is not a variable",
    ]


def test_a_text_that_does_not_end_has_its_line(tmp_path: Path) -> None:
    path = folder(tmp_path, sql=SQL.replace("VALUES (:id)", "VALUES (:id,\n'x)"))
    assert errors(path) == ["5 statements.sql: note: what begins with ' in line 2 of the statement has no end"]


def test_a_file_of_yaml_that_cannot_be_read_hides_no_errors_of_the_sql(tmp_path: Path) -> None:
    path = folder(tmp_path, "operations: [\n", sql=SQL.replace("VALUES (:id)", "VALUES ('x)"))
    first, second = errors(path)
    assert "is not valid YAML" in first
    assert second == "5 statements.sql: note: what begins with ' in line 1 of the statement has no end"


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("{table: a;b, column: id}", "table: 'a;b' is not a name such as"),
        ("{table: a, column: 'x y'}", "column: 'x y'"),
    ],
)
def test_a_key_that_is_no_name_is_refused(tmp_path: Path, key: str, error: str) -> None:
    path = folder(tmp_path, YAML.replace("{uniform: {max: 10 * rows}}", f"{{key: {key}}}"))
    assert any(f" workload.yaml: variables.id.key.{error}" in one for one in errors(path))
