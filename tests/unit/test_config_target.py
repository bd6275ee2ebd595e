"""A target: its address in both directions, without its password."""

from __future__ import annotations

import pickle
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdbkit.config import Load, Target, TprocCSpec, WorkloadSpec
from hdbkit.config.workload_spec import SchemaFrom
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.plan import RunPlan

SECRET = "hunter2"
word = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)
socket_folder = st.builds("/{}/{}".format, word, word)
address = st.sampled_from(["db2", "db2:5433", "[::1]:5432", "[fe80::2]", "10.0.0.2"])
host = st.sampled_from(["db1", "DB1.Example", "10.0.0.1", "::1", "fe80::1"])


@given(
    host=st.none() | host | socket_folder,
    port=st.none() | st.integers(1, 65535),
    database=st.none() | word,
    user=st.none() | word,
    options=st.dictionaries(
        st.from_regex(r"[a-y]{3,8}", fullmatch=True),
        st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8),
        max_size=3,
    ),
    others=st.tuples(st.lists(address, max_size=2), st.lists(address, max_size=2)),
)
def test_an_address_reads_back_as_the_same_target(
    host: str | None,
    port: int | None,
    database: str | None,
    user: str | None,
    options: dict[str, str],
    others: tuple[list[str], list[str]],
) -> None:
    hidden = ("host", "secret", "token", "pwd", "replicas")
    fallbacks, replicas = map(tuple, others)
    options = {k: v for k, v in options.items() if k not in hidden and "pass" not in k and k.isascii()}
    target = Target(
        kind="some_db", host=host, port=port, database=database, user=user, options=options,
        fallbacks=fallbacks, replicas=replicas,
    )  # fmt: skip
    assert Target.parse(target.url) == target


def test_a_target_with_several_addresses_is_one_at_each_of_them() -> None:
    target = Target.parse(
        "postgresql://bench@db1:5432,[::1]:5433,db3/lab?target_session_attrs=primary&replicas=r1,r2:6"
    )
    assert [(one.host, one.port) for one in target.each] == [("db1", 5432), ("::1", 5433), ("db3", 5432)]
    assert [(one.host, one.port) for one in map(target.replica, range(3))] == [("r1", 5432), ("r2", 6), ("r1", 5432)]
    assert {one.user for one in target.each} == {"bench"}
    assert Target.parse("postgresql://bench@db1/lab").each == [Target.parse("postgresql://bench@db1/lab")]


@pytest.mark.parametrize("password", [SECRET, "a/b?c#d", "p@ss:w@rd", quote("a b"), "5432"])
@pytest.mark.parametrize("rest", ["@db1/tpcc", "@db1:5432/tpcc", "@[::1]:5432/tpcc?sslmode=require", "@/x"])
def test_a_password_in_a_url_is_refused_and_not_repeated(password: str, rest: str) -> None:
    with pytest.raises(InputError, match="HDBKIT_PASSWORD") as caught:
        Target.parse(f"nulldb://bench:{password}{rest}")
    assert password not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("nulldb://bench@db1:54x/tpcc", "Port could not be cast to integer value[)]"),
        ("nulldb://bench@db1:99999/tpcc", "0-65535"),
        ("nulldb://[::1/tpcc", "IPv6"),
        ("nulldb://bench@db1/tp%00cc", "database: a character with the code 0 is not allowed"),
        ("nulldb://bench@db1/tpcc?sslmode=%00", "options: a character with the code 0 is not allowed"),
        ("://bench@db1/tpcc", "kind"),
        ("nulldb://db1/tpcc?password=hunter2", "looks like a secret"),
        ("nulldb://db1/tpcc?sslmode", "bad query field"),
        (f"nulldb://db1/tpcc#{SECRET}", "a part after #"),
        (f"nulldb://bench:{SECRET}", "not a valid URL"),
        (f"nulldb://bench@db1/tpcc?{SECRET}", "bad query field"),
        (f"bench:{SECRET}@db1/tpcc", "neither a name nor a URL"),
    ],
)
def test_a_wrong_url_is_reported_in_a_sentence(url: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        Target.parse(url)
    assert SECRET not in str(caught.value)


def test_a_password_is_in_no_text_of_a_target() -> None:
    target = Target(kind="nulldb", host="db1", password=SECRET).with_(database="tpcc")
    texts = [repr(target), str(target), target.url, target.model_dump_json(), repr(target.model_dump())]
    assert not [text for text in texts if SECRET in text]
    assert target.secret() == SECRET
    assert pickle.loads(pickle.dumps(target)).secret() == SECRET, "a client needs it"


def test_a_password_comes_from_memory_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HDBKIT_PASSWORD", raising=False)
    assert Target(kind="nulldb").secret() is None
    monkeypatch.setenv("HDBKIT_PASSWORD", "from outside")
    assert Target(kind="nulldb").secret() == "from outside"
    assert Target(kind="nulldb", password=SECRET).secret() == SECRET


def test_a_password_file_may_stand_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Target(kind="nulldb", password_file="~/.pass").password_file == tmp_path / ".pass"


@pytest.mark.parametrize(
    "given",
    [
        {"password": [SECRET]},
        {"passwrd": SECRET},
        {"options": {"password": SECRET}},
        {"options": {"access_token": [SECRET]}},
        {"kind": f"nulldb://bench:{SECRET}@db1/tpcc"},
        {"options": f"password={SECRET}"},
        {"options": {"sslmode": [SECRET]}},
        {"control": {"commands": {"restart": f"restart --password={SECRET}"}}},
        {"password_file": [SECRET]},
    ],
)
def test_an_error_about_a_secret_does_not_repeat_it(given: dict[str, object]) -> None:
    with pytest.raises(ConfigErrors) as caught:
        Target(**{"kind": "nulldb", **given})
    assert SECRET not in str(caught.value)


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "targets.yaml"
    path.write_text(
        "lab:\n  kind: nulldb\n  host: db1\nspoilt:\n  kind: nulldb\n  prot: 1\n  port: 0\n"
        f"open:\n  kind: nulldb\n  password: {SECRET}\nshort: nulldb://db1\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("HDBKIT_TARGETS", str(path))
    return path


def test_a_name_is_an_entry_of_the_targets_file(named: Path) -> None:
    assert Target.parse("lab") == Target(kind="nulldb", host="db1")


ONE = TprocCSpec(warehouses=1)


def new_plan(target: Target, workload: WorkloadSpec = ONE) -> RunPlan:
    return RunPlan(run_id="run-1", target=target, workload=workload, load=Load())


def test_the_command_of_a_run_leaves_out_what_its_steps_decide() -> None:
    target, load = Target.parse("nulldb://db1/"), Load(steps="5 s at 2 users; 5 s at 4 users")
    assert load.duration_s == 10
    plan = RunPlan(run_id="run-1", target=target, workload=ONE, load=load)
    assert plan.command == ("hdbkit run nulldb://db1/ --warehouses 1 --steps '5 s at 2 users; 5 s at 4 users'")


def test_an_entry_may_state_a_url(tmp_path: Path) -> None:
    file = tmp_path / "targets.yaml"
    file.write_text('lab: {url: "postgresql://bench@db1:5433/tpcc?sslmode=require", may_restart: true}')
    target = Target.parse("lab", file)
    assert target.url == "postgresql://bench@db1:5433/tpcc?sslmode=require"
    assert (target.name, target.may_restart) == ("lab", True)


def test_a_target_that_was_given_by_name_is_typed_by_name(named: Path) -> None:
    lab = Target.parse("lab")
    assert lab.given == "lab"
    assert Target.parse(lab.url).given == "nulldb://db1/"
    assert Target.model_validate_json(lab.model_dump_json()).given == "lab", "a plan keeps it"
    assert new_plan(lab).command == "hdbkit run lab --warehouses 1"
    theirs = TprocCSpec(warehouses=1, schema_from=SchemaFrom.HAMMERDB)
    assert new_plan(lab, theirs).command == "hdbkit run lab --warehouses 1 --schema-from hammerdb"
    assert lab.with_(password=SECRET).given == "lab"
    assert lab.with_(port=1).given == "nulldb://db1:1/", "the entry of that name has another port"


def test_the_entry_of_a_name_does_not_give_another_name(named: Path) -> None:
    named.write_text("lab:\n  kind: nulldb\n  name: other\n", encoding="utf-8")
    with pytest.raises(ConfigErrors, match=r"line 3 .*lab.name: the target's name is 'lab' already"):
        Target.parse("lab")


def test_an_unknown_name_is_reported_with_the_known_ones(named: Path) -> None:
    with pytest.raises(InputError, match=r"no target 'lba'.*known: lab, open, short, spoilt.*Did you mean 'lab'"):
        Target.parse("lba")


def test_without_a_file_the_places_that_were_looked_at_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from cron, whose working folder is another one."""
    monkeypatch.delenv("HDBKIT_TARGETS", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        Target.parse("production")
    text = str(caught.value)
    assert (
        f"no target 'production' in the examples of hdbkit, and there is no file {tmp_path}/params/targets.yaml"
        in text
    )
    assert text.endswith("or a name in a file: set HDBKIT_TARGETS to its path")
    monkeypatch.setenv("HDBKIT_TARGETS", "/nowhere/targets.yaml")
    with pytest.raises(InputError, match=r"there is no file /nowhere/targets\.yaml"):
        Target.parse("production")


def test_the_errors_of_an_entry_have_the_lines_of_the_file(named: Path) -> None:
    with pytest.raises(ConfigErrors) as caught:
        Target.parse("spoilt")
    assert sorted((m.line, m.where) for m in caught.value.problems) == [(6, "prot"), (7, "port")]


def test_a_password_in_the_targets_file_is_refused(named: Path) -> None:
    with pytest.raises(ConfigErrors, match="passwords are not allowed in files") as caught:
        Target.parse("open")
    assert SECRET not in str(caught.value)


def test_an_entry_must_be_keys_and_values(named: Path) -> None:
    with pytest.raises(ConfigErrors, match="must be keys and values"):
        Target.parse("short")


def test_a_replica_need_not_have_the_role_that_the_target_asks_for() -> None:
    target = Target.parse("postgresql://b@p:1/x?target_session_attrs=read-write&replicas=r:2&sslmode=require")
    assert target.replica(0).options == {"sslmode": "require"}
    assert target.each[0].options["target_session_attrs"] == "read-write"


def test_a_url_of_another_tool_is_read_as_it_means() -> None:
    assert (
        Target.parse("postgres://b@db1/t")
        == Target.parse("postgresql://b@db1/t")
        == Target.parse("postgresql://b@/t?host=db1")
    )
    for name in ("rediss", "valkeys"):
        assert Target.parse(f"{name}://db1/0?connect_timeout=3&tls=off").options == {
            "connect_timeout": "3",
            "tls": "on",
        }
    assert Target.parse("postgresql://b@db1/t?port=6").url == "postgresql://b@db1:6/t"
    assert Target.parse("postgresql://b@/t?host=/run&port=6") == Target(
        kind="postgresql", host="/run", port=6, user="b", database="t"
    )


@pytest.mark.parametrize("address", ["db1:5/t?port=6", "db1/t?host=db2"])
def test_a_url_with_two_addresses_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="two values"):
        Target.parse(f"nulldb://b@{address}")
