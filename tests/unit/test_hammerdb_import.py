"""Import of HammerDB's settings: every key has a meaning, nothing is executed, no password is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hdbkit import api
from hdbkit.config import Load, Target
from hdbkit.config.specs import read_load
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.hammerdb.reading import Unclosed, commands
from hdbkit.hammerdb.translating import keys_of, translation

BENCHMARKS = {entry["dictionary"]: name for name, entry in translation()["benchmarks"].items()}
DATABASE = next(name for name, entry in translation()["databases"].items() if entry["prefix"] == "pg_")
HOSTILE = "kx9_not_for_files"


def test_words_of_tcl_follow_its_quoting() -> None:
    text = '# a comment; not {a command\nfirst {a $b} "c d" \\\n  e\\ f; second $x [third "]"]\n'
    assert [(one.line, one.words) for one in commands(text)] == [
        (2, ("first", "a $b", "c d", "e f")),
        (3, ("second", None, None)),
    ]


@pytest.mark.parametrize("text", ["a\nb {c", 'a\nb "c', "a\nb [c"])
def test_an_unclosed_mark_has_its_line(text: str) -> None:
    with pytest.raises(Unclosed) as caught:
        commands(text)
    assert caught.value.line == 2


def test_the_page_lists_every_key_and_what_becomes_of_it() -> None:
    page = Path("docs/from-hammerdb.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("| dictionary | key | databases | hdbkit |\n| --- | --- | --- | --- |\n")
    assert rest.partition("\n\n")[0].splitlines() == lines_of_the_page()


def lines_of_the_page() -> list[str]:
    """The table of the page, as it follows from ``keys.yaml``."""
    content = translation()
    rows = [
        (name, f"`{key}`", ", ".join(rule.get("only", ["all"])), rule)
        for name, keys in [*content["dictionaries"].items(), ("vuset", content["vuset"])]
        for key, rule in keys.items()
    ]
    for name, reasons in content["generic"].items():
        for reason in dict.fromkeys(reasons.values()):
            keys = ", ".join(f"`{key}`" for key in reasons if reasons[key] == reason)
            rows.append((f"giset {name}", keys, "all", {"none": reason}))
    return [f"| `{name}` | {key} | {databases} | {becomes(rule)} |" for name, key, databases, rule in rows]


def becomes(rule: dict[str, Any]) -> str:
    if "to" not in rule:
        return f"not translated: {translation()['reasons'].get(rule['none'], rule['none'])}"
    in_seconds = ", in seconds" if rule.get("as") == "minutes" else ""
    return f"`{rule['to']}`" + in_seconds + (f", if `{rule['when']}` is true" if "when" in rule else "")


@pytest.mark.parametrize("dictionary", BENCHMARKS)
@pytest.mark.parametrize("database", translation()["databases"])
def test_every_key_is_translated_or_listed_and_kinds_of_files_agree(
    database: str, dictionary: str, tmp_path: Path
) -> None:
    samples = {"integer": "3", "minutes": "3", "number": "10", "flag": "true"}
    settings = [
        (name, key, next(iter(rule.get("values", {})), None) or samples.get(rule.get("as", "text"), HOSTILE))
        for name in ("connection", dictionary)
        for key, rule in keys_of(database, name).items()
    ]
    bm = BENCHMARKS[dictionary]
    tcl = [f"dbset db {database}", f"dbset bm {bm}", *(f"diset {d} {k} {{{v}}}" for d, k, v in settings)]
    python = [
        f"dbset('db','{database}')",
        f"dbset('bm','{bm}')",
        *(f"diset({d!r},{k!r},{v!r})" for d, k, v in settings),
    ]
    root = translation()["databases"][database]["root"]
    xml = [f"<{root}>", *(f"<{d}><x><{k}>{v}</{k}></x></{d}>" for d, k, v in settings), f"</{root}>"]
    found = []
    for suffix, lines in (("tcl", tcl), ("py", python), ("xml", xml)):
        (tmp_path / f"in.{suffix}").write_text("\n".join(lines))
        done = api.import_settings(tmp_path / f"in.{suffix}", tmp_path / suffix, benchmark=bm)
        found.append({path.name: path.read_text() for path in done.files})
        rules = [(d, k, keys_of(database, d)[k]) for d, k, _ in settings]
        assert {f"{d} {k}" for d, k, rule in rules if "none" in rule} <= {*done.left_out["setting"]}
        load = read_load(tmp_path / suffix / "run.yaml")
        for _, _, rule in rules:
            if rule.get("as") == "minutes":
                assert getattr(load, rule["to"].removeprefix("load.")) == 180
    assert found[0] == found[1] == found[2]


def test_a_script_becomes_a_target_and_a_load_without_its_password(tmp_path: Path) -> None:
    script = tmp_path / "in.tcl"
    script.write_text(
        f"dbset db {DATABASE}\ndiset connection pg_host db1\ndiset connection pg_port 5433\n"
        f"diset tpcc pg_user bench\ndiset tpcc pg_pass {HOSTILE}\ndiset tpcc pg_superuserpass {HOSTILE}\n"
        f"diset tpcc pg_count_ware [exec touch {tmp_path}/executed]\nvuset vu 8\nfile delete in.tcl\n"
        "diset tpcc pg_raiseerror true\ndiset tpcc pg_num_vu 3\ndiset tpcc pg_dbase lab\n"
    )
    done = api.import_settings(script, tmp_path / "out")
    target = Target.parse("hammerdb", tmp_path / "out" / "targets.yaml")
    assert (target.host, target.port, target.user) == ("db1", 5433, "bench")
    load = read_load(tmp_path / "out" / "run.yaml")
    assert (load.virtual_users, load.raise_error, target.database) == (8, True, "lab")
    assert done.build_command.endswith("--loaders 3")
    assert not (tmp_path / "executed").exists()
    assert [line for line in done.left_out["line"] if line > 6] == [7, 9]
    assert HOSTILE not in "".join(path.read_text() for path in done.files) + done.left_out.to_csv() + done.run_command


def test_a_setting_counts_only_where_the_one_that_it_depends_on_is_true(tmp_path: Path) -> None:
    dependent = [
        (database, key, rule, keys_of(database, "tpcc"))
        for database, entry in translation()["databases"].items()
        for key, rule in keys_of(database, "tpcc").items()
        if rule.get("when") == "async_scale" and entry["prefix"]
    ]
    assert len(dependent) == len(translation()["databases"]) - 1
    for database, key, rule, keys in dependent:
        switch = next(one for one in keys if one.endswith(rule["when"]))
        for value, sessions in (("true", 25), ("false", 1)):
            script = tmp_path / f"{database}-{value}.tcl"
            script.write_text(f"dbset db {database}\ndiset tpcc {key} 25\ndiset tpcc {switch} {value}\n")
            done = api.import_settings(script, tmp_path / script.stem)
            assert read_load(tmp_path / script.stem / "run.yaml").sessions_per_user == sessions
            assert (f"tpcc {key}" in done.left_out["setting"].tolist()) is (value == "false")


def test_braces_of_a_python_script_only_quote(tmp_path: Path) -> None:
    (tmp_path / "in.py").write_text(f"dbset('db','{DATABASE}')\ndiset('connection', 'pg_host', '{{db1}}')\n")
    api.import_settings(tmp_path / "in.py", tmp_path / "out")
    assert Target.parse("hammerdb", tmp_path / "out" / "targets.yaml").host == "db1"


def test_settings_of_the_tool_itself_and_other_commands_are_listed_and_their_keys_are_known(tmp_path: Path) -> None:
    script = tmp_path / "in.tcl"
    script.write_text(
        f"dbset db {DATABASE}\ngiset commandline keepalive_margin 60\ngiset commandline keepalive 60\n"
        "tcset refreshrate 20\n"
    )
    found = api.import_settings(script, tmp_path / "out").left_out.set_index("line")["reason"]
    assert found[2] == translation()["reasons"]["tool"]
    assert "not known" in found[3]
    assert "only dbset, diset, giset, vuset are translated" in found[4]


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("in.tcl", "if {$big} {\n  diset tpcc pg_rampup 9\n} else {\n  diset tpcc pg_rampup 1\n}"),
        ("in.py", "if big:\n  diset('tpcc', 'pg_rampup', 9)\nelse:\n  diset('tpcc', 'pg_rampup', 1)"),
    ],
)
def test_each_block_with_settings_is_listed_and_none_of_them_is_read(tmp_path: Path, name: str, block: str) -> None:
    first = f"dbset db {DATABASE}" if name.endswith("tcl") else f"dbset('db', '{DATABASE}')"
    (tmp_path / name).write_text("\n".join([first, block, block]))
    done = api.import_settings(tmp_path / name, tmp_path / "out")
    assert done.left_out["setting"].tolist() == ["if", "if"]
    assert all("settings in it are not read" in reason for reason in done.left_out["reason"])
    assert read_load(tmp_path / "out" / "run.yaml").rampup_s == Load().rampup_s


def test_a_variant_of_a_database_is_an_engine_of_its_own_and_options_that_it_lacks_are_listed(tmp_path: Path) -> None:
    variants = [
        (database, dictionary, key, rule)
        for dictionary, keys in translation()["dictionaries"].items()
        for key, rule in keys.items()
        if rule.get("to") == "target.kind"
        for database in rule["only"]
    ]
    assert len(variants) == len(BENCHMARKS)
    for database, dictionary, key, rule in variants:
        for value, kind in (
            ("true", rule["values"]["true"]),
            ("false", translation()["databases"][database]["kind"]),
        ):
            script = tmp_path / f"{dictionary}-{value}.tcl"
            script.write_text(
                f"dbset db {database}\ndbset bm {BENCHMARKS[dictionary]}\n"
                f"diset tpcc hash_clusters true\ndiset {dictionary} {key} {value}\n"
            )
            done = api.import_settings(script, tmp_path / script.stem)
            assert Target.parse("hammerdb", tmp_path / script.stem / "targets.yaml").kind == kind
            lacked = [
                (line, setting) for line, setting in zip(done.left_out["line"], done.left_out["setting"], strict=True)
            ]
            if dictionary == "tpcc":
                assert lacked == ([(3, "hash_clusters")] if value == "true" else [])
                assert ("--hash-clusters" in done.build_command) is (value == "false")


def test_all_errors_are_reported_together_and_nothing_is_written(tmp_path: Path) -> None:
    script = tmp_path / "in.py"
    script.write_text(
        f"dbset('db', '{DATABASE}')\ndiset('tpcc', 'pg_rampup')\ndiset('tpcx', 'pg_rampup', 1)\n"
        f"diset('tpcc', 'pg_ramup', '{HOSTILE}')\ndiset('tpcc', 'pg_duration', 'long')\nvuset('vu', 2, 3)\n"
        "vuset('vu', -2)\n"
    )
    with pytest.raises(ConfigErrors) as caught:
        api.import_settings(script, tmp_path / "out")
    assert [one.line for one in caught.value.problems] == [2, 3, 5, 6, 7]
    assert HOSTILE not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tcl", "dbset db {0}\ndiset tpcc {1} true\nforeach z {{ 1 2 8 }} {{\nvuset vu $z\nvurun\n}}\n"),
        ("a.py", "dbset('db', '{0}')\ndiset('tpcc', '{1}', 'true')\nfor z in [1, 2, 8]:\n    vuset('vu', z)\n"),
    ],
)
def test_an_unknown_key_is_listed_and_a_loop_over_users_is_a_profile(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text.format(DATABASE, "pg_rampupp"))
    done = api.import_settings(tmp_path / name, tmp_path / "out")
    assert done.run_command.endswith(" -u 1,2,8")
    assert " hdbkit profile imported hammerdb " in done.run_command
    unknown, loop, *_ = done.left_out.to_dict("records")
    assert (unknown["line"], unknown["setting"]) == (2, "tpcc pg_rampupp")
    assert "Did you mean 'pg_rampup'?" in unknown["reason"]
    assert (loop["line"], loop["reason"].endswith(": -u 1,2,8")) == (3, True)


def test_a_loop_with_other_settings_says_that_these_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.tcl").write_text(
        f"dbset db {DATABASE}\nforeach z {{1 2}} {{ vuset vu $z\ndiset tpcc pg_rampup $z }}\n"
        "foreach w {5 6} { diset tpcc pg_count_ware $w }\n"
    )
    done = api.import_settings(tmp_path / "a.tcl", tmp_path / "out")
    assert list(done.left_out["line"]) == [2, 2, 4]
    assert done.run_command.endswith(" -u 1,2")


def imported(tmp_path: Path, name: str, content: str | bytes, **given: str) -> tuple[api.Imported, Any]:
    """What an import made of a file, and its load."""
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    done = api.import_settings(tmp_path / name, tmp_path / f"{name}.d", **given)
    return done, read_load(tmp_path / f"{name}.d" / "run.yaml")


def test_a_variable_with_a_constant_value_is_followed_and_one_that_a_block_may_change_is_not(tmp_path: Path) -> None:
    tcl = (
        f"set users 8\nset wh 40\nset vus {{1 2 4}}\ndbset db {DATABASE}\ndiset tpcc pg_count_ware $wh\n"
        "diset connection pg_host db${users}.lab\nvuset vu $users\nif {$big} {set users 16}\nvuset delay $users\n"
        "foreach z $vus {vuset vu $z; vurun}\n"
    )
    done, load = imported(tmp_path, "a.tcl", tcl)
    assert (load.virtual_users, load.start_delay_ms) == (8, None)
    assert "--warehouses 40 " in done.run_command
    assert done.run_command.endswith("-u 1,2,4")
    assert "host: db8.lab" in done.files[0].read_text()
    assert done.left_out["setting"].tolist() == ["if", "vuset delay", "foreach"]
    python = (
        f"users = 8\nvus = [1, 2, 4]\ndbset('db', '{DATABASE}')\nvuset('vu', users)\nwhile users:\n  users = 1\n"
        "vuset('delay', users)\nfor z in vus:\n  vuset('vu', z)\n"
    )
    done, load = imported(tmp_path, "b.py", python)
    assert (load.virtual_users, load.start_delay_ms) == (8, None)
    assert done.run_command.endswith("-u 1,2,4")
    assert done.left_out["setting"].tolist() == ["while", "vuset delay", "for"]


def test_a_scale_that_no_file_has_is_not_printed(tmp_path: Path) -> None:
    done, _ = imported(tmp_path, "a.tcl", f"dbset db {DATABASE}\n")
    assert "--warehouses" not in done.build_command + done.run_command


def test_here_documents_of_a_shell_script_are_read_with_the_values_of_its_variables(tmp_path: Path) -> None:
    script = (
        "#!/bin/bash\nUSERS=8\nexport HOST='db1'\nNOW=$(date)\nfor vu in 1 2 8; do\n./hammerdbcli <<EOF\n"
        f"dbset db {DATABASE}\ndiset connection pg_host $HOST\ndiset tpcc pg_num_vu ${{USERS}}\n"
        "diset tpcc pg_user $NOW\nvuset vu $vu\nputs \\$done\nEOF\ndone\necho diset tpcc pg_rampup 7\n"
    )
    done, load = imported(tmp_path, "a.sh", script)
    assert "host: db1" in done.files[0].read_text()
    assert done.build_command.endswith("--loaders 8")
    assert done.run_command.endswith("-u 1,2,8")
    assert load.rampup_s == Load().rampup_s
    assert list(zip(done.left_out["line"], done.left_out["setting"], strict=True)) == [
        *((10, "tpcc pg_user"), (11, "foreach"), (12, "puts"))
    ]
    _, load = imported(tmp_path, "b.sh", f"hammerdbcli py <<'X'\ndbset('db','{DATABASE}')\nvuset('vu',5)\nX\n")
    assert load.virtual_users == 5


def test_files_of_windows_fractional_minutes_and_a_script_without_database_are_read(tmp_path: Path) -> None:
    script = f"# M\xfcller\r\ndbset db {DATABASE}\r\ndiset tpcc pg_rampup 0.5\r\n".encode("cp1252")
    _, load = imported(tmp_path, "a.tcl", script)
    assert load.rampup_s == 30
    _, load = imported(tmp_path, "b.tcl", b"\xef\xbb\xbfdiset tpcc pg_rampup 3\r\n", database=DATABASE)
    assert load.rampup_s == 180


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.tcl", b"\xff\xfe\x00", "cannot be read as text"),
        ("a.sh", b"diset tpcc pg_rampup 1", "chooses no database"),
        ("a.tcl", b"dbset db\0", "character with the code 0"),
        ("hammer.db", b"SQLite format 3\0", "import_results"),
        ("a.txt", b"", "must be a script"),
        ("a.tcl", b"vuset vu 1", "chooses no database"),
        ("a.py", b"dbset(", "not valid Python"),
        ("a.xml", b"<hammerdb><a></hammerdb>", "not valid XML"),
        ("database.xml", b"<database/>", "<database>: is not the configuration of a database; give one of "),
        ("a.xml", b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "DOCTYPE"),
    ],
)
def test_a_wrong_file_is_one_clear_error(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        api.import_settings(tmp_path / name, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_that_exist_are_kept(tmp_path: Path) -> None:
    (tmp_path / "in.tcl").write_text(f"dbset db {DATABASE}")
    (tmp_path / "run.yaml").write_text("mine")
    with pytest.raises(InputError, match="nothing was written"):
        api.import_settings(tmp_path / "in.tcl", tmp_path)
    assert (tmp_path / "run.yaml").read_text() == "mine"
    assert not (tmp_path / "targets.yaml").exists()
