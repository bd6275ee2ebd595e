"""Sentences that name a fault, and what a run's records say about one."""

from __future__ import annotations

import re

import pytest

from hdbkit.config import Load
from hdbkit.config.fault import FAULT_FORMS, Fault, Faults, Thing, shared_outages
from hdbkit.errors import ConfigErrors


@pytest.mark.parametrize(
    "text",
    [
        "kill server at 30 s",
        "kill server at 30 s for 5 s",
        "stop server at 1.5 s for 10 s",
        "restart server at 0 s",
        "pause server at 30 s for 0.5 s",
        "failover server at 30 s",
        "kill client at 30 s",
        "kill 3 clients at 30 s",
        "delay network at 30 s for 10 s by 50 ms",
        "cut network at 30 s for 10 s",
        "reset network at 30 s",
        "pause disk at 30 s for 2 s",
    ],
)
def test_a_sentence_is_read_and_written_again(text: str) -> None:
    fault = Fault.parse(text)
    assert str(fault) == text
    assert (fault.action, fault.thing) in FAULT_FORMS
    shouted = re.sub(r" (M?S)( |$)", r"\1\2", text.upper())
    assert Fault.parse(f"  {shouted}\n") == fault


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("kill", "is not a fault"),
        ("kill network at 3 s", "is not a fault"),
        ("kil server at 3 s", r"is not a fault\. Did you mean 'kill server'\? Known: kill server at 30 s"),
        ("delay netwrk at 3 s for 2 s by 5 ms", "Did you mean 'delay network'"),
        ("kill server", r"must read like 'kill server at 30 s \[for 5 s\]'"),
        ("kill server at 3 min", "3 must have the unit s, as in 'kill server at 30 s"),
        ("kill server at 3", "3 must have the unit s"),
        ("delay network at 3 s for 2 s by 5", "5 must have the unit ms"),
        ("kill server at -3 s", "must read like"),
        ("kill 2 client", "must read like 'kill client at 30 s or kill 2 clients at 30 s'"),
        ("kill client at ٣ s", "must read like"),
        (f"kill {'9' * 5000} clients at 3 s", r"'kill 9{52}\.\.\.' must read like"),
        ("stop server at 3 s for 0 s", "above 0"),
        ("delay network at 3 s for 1 s by 0 ms", "above 0"),
        ("", "it names no fault"),
        (" ; ", "it names no fault"),
        ("stop server at 3 s", "must read like 'stop server at 30 s for 5 s'"),
        ("restart server at 3 s for 3 s", "must read like 'restart server at 30 s'"),
        ("kill 2 servers at 3 s", "must read like"),
        ("kill 0 clients at 3 s", "above 0"),
        ("delay network at 3 s for 2 s", "by 50 ms'"),
        ("cut network at 3 s for 2 s by 5 ms", "must read like"),
    ],
)
def test_another_sentence_is_an_error_that_shows_the_right_one(text: str, reason: str) -> None:
    with pytest.raises(ConfigErrors, match=reason) as raised:
        Load(fault=text)
    assert [problem.where for problem in raised.value.problems] == ["fault"]


def test_faults_are_sorted_and_those_of_one_thing_do_not_overlap() -> None:
    faults = Load(fault="kill client at 20 s; cut network at 3 s for 4 s;").faults
    assert [fault.thing for fault in faults] == [Thing.NETWORK, Thing.CLIENT]
    assert Load().faults == ()
    with pytest.raises(
        ConfigErrors, match="'kill server at 4 s' begins before 'pause server at 1 s for 5 s' is over"
    ):
        Load(fault="pause server at 1 s for 5 s; kill server at 4 s")


def test_a_fault_is_over_before_the_window_ends() -> None:
    with pytest.raises(ConfigErrors, match=r"'cut network at 8 s for 2 s' is not over before the end of the window"):
        Load(duration_s=10, fault="cut network at 8 s for 2 s")


def test_a_server_and_its_disk_are_one_thing() -> None:
    """A killed server does not start while its disk is frozen."""
    with pytest.raises(ValueError, match="'kill server at 2 s' begins before 'pause disk at 1 s for 5 s' is over"):
        Faults.parse("pause disk at 1 s for 5 s; kill server at 2 s")


def test_faults_that_overlap_on_several_things_share_an_outage() -> None:
    (found,) = shared_outages(Faults.parse("cut network at 1 s for 5 s; kill client at 2 s; kill server at 3 s").each)
    assert found.startswith("'kill server at 3 s' begins before 'cut network at 1 s for 5 s' is over")
    assert (
        shared_outages(Faults.parse("cut network at 1 s for 2 s; kill server at 3 s; kill client at 3 s").each) == []
    )
