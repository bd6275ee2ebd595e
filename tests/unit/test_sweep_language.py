"""The content of a sweep file: ranges, formulas of facts, factors, constraints, budgets; and its error messages."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import jsonschema
import pytest
import yaml

from hdbkit import api
from hdbkit.config import Load, SweepSpec, Target
from hdbkit.config.sweep_factors import factor_texts, factor_value
from hdbkit.config.sweep_grid import grid_from
from hdbkit.config.sweep_spec import sweep_schema
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.experiment.kinds.sweep.plan import SweepPlan, plan_sweep
from hdbkit.paths import data_folder
from hdbkit.text import option_words

TARGET = Target(kind="nulldb")
SAMPLES = sorted(data_folder("params").glob("sweep-*.yaml"))


def values(written: object, **more: object) -> tuple[str, ...]:
    return SweepSpec(settings={"x": written}, **more).settings["x"]


def planned(**fields: object) -> SweepPlan:
    return plan_sweep(TARGET, SweepSpec(**{"settings": {"x": [1, 2]}, "blocks": 2, **fields}), "s")


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ({"from": "128MB", "to": "512MB", "step": "128MB"}, "128MB 256MB 384MB 512MB"),
        ({"from": "128MB", "to": "4GB", "factor": 2}, "128MB 256MB 512MB 1GB 2GB 4GB"),
        ({"from": "64M", "to": "3G", "factor": 4}, "64M 256M 1G"),
        ({"from": "30s", "to": "120s", "step": "30s"}, "30s 60s 90s 120s"),
        ({"from": "30s", "to": "2min", "step": "30s"}, "30s 1min 90s 2min"),
        ({"from": 0, "to": 0.3, "step": 0.1}, "0 0.1 0.2 0.3"),
        ({"from": 1, "to": 9, "factor": 2}, "1 2 4 8"),
        ({"from": "0", "to": "8MB", "step": "4MB"}, "0MB 4MB 8MB"),
        ({"from": "1MB", "to": "16MB", "factor": 4, "special": [-1, "auto"]}, "1MB 4MB 16MB -1 auto"),
        ([{"from": 1, "to": 3, "step": 1}, 10], "1 2 3 10"),
        ("= 1GB to 2GB step 512MB", "1GB 1536MB 2GB"),
        (["= 2 * 64MB", True, 1.5], "128MB on 1.5"),
    ],
)
def test_ranges_give_values_as_people_write_them(written: object, found: str) -> None:
    assert values(written) == tuple(found.split())


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"ram": "lots"}, "ram must be a size, such as 64GB, not 'lots'"),
        ({"ram": "64"}, "ram must be a size"),
        ({"ram": "-1GB"}, "ram must be a size"),
        ({"cpus": "8GB"}, "cpus must be a number without unit, such as 8, not '8GB'"),
        ({"cpus": "0"}, "cpus must be"),
    ],
)
def test_a_fact_that_no_formula_can_use_is_refused(facts: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigErrors, match=sentence):
        SweepSpec(facts=facts, settings={"x": ["1", "2"]})
    known = {"ram": "64GB", "cpus": 8, "disk": "slow"}
    assert SweepSpec(facts=known, settings={"x": ["1", "2"]}).facts["cpus"] == "8"


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("4MB", r"settings.x: give a list of values, such as \[4MB\]"),
        ({"from": 1, "to": 4}, "needs from, to, and either step or factor"),
        ({"from": 1, "to": 4, "step": 1, "factor": 2}, "either step or factor"),
        ({"from": 1, "till": 4, "step": 1}, "a range has no key 'till'"),
        ({"from": 4, "to": 1, "step": 1}, "from is larger than to"),
        ({"from": 1, "to": 4, "step": 0}, "a step must be greater than 0"),
        ({"from": 0, "to": 4, "factor": 2}, "a factor greater than 1"),
        ({"from": "1MB", "to": 4, "step": 1}, "compatible units"),
        ({"from": "1MB", "to": "4MB", "factor": "2MB"}, "a factor has no unit"),
        ({"from": 1, "to": 10_000, "step": 1}, "more than 1000 values"),
        ({"from": 1, "to": 2, "step": 1, "special": -1}, "special must be a list"),
        (["= ram +"], "ram . is not a valid expression"),
        (["= 0.25 * rma"], "'rma' is not a fact .* Did you mean 'ram'"),
        (["= 1GB", "1GB"], "each value may appear only once"),
        (["4MB", "4096kB"], "each value may appear only once"),
        (["= 9e99 * 9e99"], "too large"),
        ("= 1 < 2", "must evaluate to a number"),
    ],
)
def test_values_that_make_no_sense_are_refused(written: object, sentence: str) -> None:
    with pytest.raises(ConfigErrors, match=sentence):
        values(written)


def test_formulas_wait_for_the_facts_of_the_host() -> None:
    spec = SweepSpec(settings={"x": ["= ram / 4", {"from": "1GB", "to": "= ram / 2", "factor": 4}], "n": ["= cpus"]})
    assert spec.missing_facts == {"ram", "cpus"}
    whole = spec.resolved({"ram": "32GB", "cpus": "6", "unused": "1"})
    assert whole.settings == {"x": ("8GB", "1GB", "4GB", "16GB"), "n": ("6",)}
    assert whole.facts == {"ram": "32GB", "cpus": "6"}
    with pytest.raises(InputError, match=r"add to its file: facts: \{cpus: ..., ram: ...\}"):
        spec.resolved()


def test_the_facts_of_the_file_win() -> None:
    spec = SweepSpec(facts={"ram": "64GB"}, settings={"x": ["= ram / 4"]})
    assert not spec.missing_facts
    assert spec.resolved({"ram": "1GB"}).settings["x"] == ("16GB",)


def test_the_facts_of_this_host_are_known_and_those_of_another_are_asked_for() -> None:
    spec = SweepSpec(settings={"x": ["= 0.1 * ram", "= 0.2 * ram"]})
    near, far = Target(kind="nulldb", host="127.0.0.1"), Target(kind="nulldb", host="db1.example")
    assert api.plan_sweep(near, spec).spec.facts["ram"].endswith(("MB", "GB"))
    with pytest.raises(InputError, match="needs unknown facts of the database's host"):
        api.plan_sweep(far, spec)


def test_an_error_is_reported_with_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(
        "settings:\n  a: [1GB, 2GB]\n  b: {from: 2, to: 1, step: 1}\nfactors:\n  routine: [stored]\n"
        "constraints:\n  - a <= 1GB\n  - c > 1\n  - a +\n",
        encoding="utf-8",
    )
    with pytest.raises(ConfigErrors) as caught:
        SweepSpec.read(path)
    assert [(one.line, one.where) for one in caught.value.problems] == [
        (3, "settings.b"),
        (4, "factors"),
        (9, "constraints[2]"),
    ]
    assert "written target.NAME. Did you mean 'routines'?" in str(caught.value)


def test_what_comes_out_later_is_reported_with_file_and_line_too(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text("settings:\n  a: [1GB, 2]\nconstraints:\n  - a > 1\n  - a < 3GB\n", encoding="utf-8")
    with pytest.raises(ConfigErrors) as caught:
        grid_from(SweepSpec.read(path).with_(blocks=3))
    assert caught.value.source == str(path)
    assert [(one.line, one.where) for one in caught.value.problems] == [(4, "constraints[0]"), (5, "constraints[1]")]
    assert "compares a size and a number without unit" in str(caught.value)


def test_combinations_that_break_a_constraint_are_omitted_and_counted() -> None:
    plan = planned(
        settings={"low": ["1GB", "2GB"], "high": ["2GB", "4GB"], "w": {"from": 1, "to": 4, "factor": 2}},
        constraints=["high >= 2 * low", "w != 4"],
    )
    assert len(plan.configurations) == 6
    assert plan.dropped == {"high >= 2 * low": 3, "w != 4": 3}
    assert sorted({one.configuration for one in plan.runs}) == list(range(6))


def test_special_values_pass_constraints() -> None:
    settings = {"buffers": {"from": "1MB", "to": "64MB", "factor": 64, "special": ["-1"]}, "memory": ["128MB"]}
    plan = planned(settings=settings, constraints=["buffers <= memory / 32"])
    assert [one["buffers"] for one in plan.configurations] == ["1MB", "-1"]
    named = planned(settings={"a": ["auto", 5]}, special={"a": ["auto"]}, constraints=["a < 3"])
    assert [one["a"] for one in named.configurations] == ["auto"]


def test_the_baseline_fulfils_all_constraints() -> None:
    with pytest.raises(
        ConfigErrors, match=r"constraints\[0\]: the baseline \(x=1\) violates 'x > 1'; change its values"
    ):
        planned(constraints=["x > 1"])
    assert planned(constraints=["x > 1"], baseline={"x": 2}).configurations == ({"x": "2"},)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"routines": ["stord"]}, "routines: must be 'stored' or 'client', not 'stord'"),
        ({"virtual_users": [1, 4]}, r"virtual_users: give virtual users next to factors"),
        ({"read_only": [True, False]}, "read_only: cannot vary, since a load that only reads may have a metric"),
        ({"partition": [4]}, "Did you mean 'partitions'"),
        ({"partitions": [0, -4]}, "must be 0 or more"),
        ({"all_warehouses": ["maybe"]}, "must be true or false"),
        ({"mix": [{"new_order": 1}, {"new_ordr": 1}]}, "a range has no key 'new_ordr'|unknown transaction"),
        ({"routines": []}, "at least one value"),
        ({"x": ["stored"]}, "not an option of the load"),
    ],
)
def test_factors_are_options_that_exist(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigErrors, match=sentence):
        planned(factors=given)


def test_settings_and_factors_make_one_configuration_and_are_distinguished_when_it_runs() -> None:
    factors = {"routines": ["client", "stored"], "all_warehouses": [False, True], "isolation": [None, "serializable"]}
    plan = planned(settings={"x": [1]}, factors={**factors, "partitions": {"from": 2, "to": 4, "factor": 2}})
    assert plan.configurations[0] == {
        "x": "1", "routines": "client", "all_warehouses": "off", "isolation": "none", "partitions": "2",
    }  # fmt: skip
    assert len(plan.configurations) == 16
    last = next(one for one in plan.runs if one.configuration == 15)
    assert plan.settings_in(15) == {"x": "1"}
    load = plan.load_of(last)
    assert (load.routines.value, load.all_warehouses, str(load.isolation)) == ("stored", True, "serializable")
    assert plan.workload_of(last).storage == {"partitions": 4}
    assert SweepPlan.model_validate_json(plan.model_dump_json()) == plan


def test_a_sweep_may_try_factors_alone_but_not_nothing() -> None:
    mixes = [{"new_order": 1, "payment": 2}, "payment=1"]
    assert planned(settings={}, factors={"mix": mixes}).configurations[0] == {"mix": "new_order=1,payment=2"}
    with pytest.raises(ConfigErrors, match="give at least one setting or factor"):
        planned(settings={})


def test_within_a_block_all_runs_of_one_schema_stand_together() -> None:
    factors = {"partitions": [0, 2, 4], "routines": ["stored", "client"]}
    plan = planned(factors=factors, virtual_users=[1, 4], blocks=30)
    orders = set()
    for block, runs in groupby(plan.runs, key=lambda one: one.block):
        schemas = [plan.workload_of(one).storage.get("partitions", 0) for one in runs]
        orders.add(tuple(key for key, _ in groupby(schemas)))
        assert len(schemas) == 28, block  # 11 comparisons and three runs of the baseline at each user count
    assert len(orders) == 6, "each order of the three schemas, and none comes back within a block"
    assert all(sorted(order) == [0, 2, 4] for order in orders)
    assert 29 * 2 <= len(plan.rebuilds) <= 30 * 3


def test_rebuilds_cost_time() -> None:
    without = planned(factors={"routines": ["stored", "client"]})
    assert planned(factors={"history_key": [False, True]}).estimated_s > without.estimated_s


def test_the_time_is_that_of_the_phases_of_each_configuration() -> None:
    load = Load(rampup_s=0, duration_s=10)
    plain = planned(load=load).estimated_s
    assert planned(load=load, factors={"duration_s": [10]}).estimated_s == plain
    assert planned(load=load, factors={"duration_s": [10, 30]}).estimated_s == pytest.approx(2.5 * plain + 4 * 20)


def test_a_plan_that_takes_longer_than_its_budget_reports_how_many_blocks_fit() -> None:
    load = Load(rampup_s=0, duration_s=44)
    assert planned(load=load, blocks=4, time_budget_s=400).spec.blocks == 4
    with pytest.raises(InputError, match=r"takes about 10 minutes for 6 blocks, .* enough for 4; write blocks: 4"):
        planned(load=load, blocks=6, time_budget_s=400)
    with pytest.raises(InputError, match="enough for 1; give fewer values"):
        planned(load=load, blocks=6, time_budget_s=110)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_sample_follows_the_schema_for_editors_and_can_be_planned(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# yaml-language-server: $schema=sweep.schema.json\n")
    jsonschema.validate(yaml.safe_load(text), sweep_schema())
    assert plan_sweep(TARGET, SweepSpec.read(path), "s").runs


@pytest.mark.parametrize(
    "wrong",
    [
        {"settings": {"x": 4}},
        {"settings": {"x": {"from": 1, "to": 2}}},
        {"factors": {"routine": ["stored"]}},
        {"blocks": 1},
        {"questoin": "why"},
    ],
)
def test_the_schema_for_editors_refuses_what_a_sweep_refuses(wrong: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, sweep_schema())
    with pytest.raises(ConfigErrors):
        SweepSpec(**{"settings": {"x": [1]}, **wrong})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"rows": 1234567}, "rows=1234567"),
        ({"rows": 10**9 + 1}, "rows=1000000001"),
        ({"share": 0.1234567}, "share=0.1234567"),
    ],
)
def test_numbers_keep_all_their_digits(given: dict[str, float], text: str) -> None:
    assert factor_texts("parameters", [given]) == (text,)
    assert factor_value("parameters", text) == given
    assert option_words("parameters", given) == ["--parameters", text]
