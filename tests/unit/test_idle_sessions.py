"""For how long the sessions of a load are idle, against what their server allows."""

from __future__ import annotations

from typing import Any

import pytest

from hdbkit.arrivals import rate_of
from hdbkit.config import Target, TprocCLoad, TprocCSpec
from hdbkit.execution.idle_sessions import idle_timeout, longest_pause_s, too_idle
from hdbkit.plan import RunPlan
from hdbkit.readings import IDLE_SESSIONS, Timeout
from hdbkit.workloads import workload

SPEC = TprocCSpec(warehouses=2)
LIMIT = Timeout(IDLE_SESSIONS, 60, "the server (timeout)")


@pytest.mark.parametrize(
    ("options", "pause_s"),
    [
        ({}, 0),
        ({"keying_and_thinking": True}, 138),  # 18 s of keying; ten times 12 s of thinking
        ({"keying_and_thinking": True, "keying_scale": 0.1, "thinking_scale": 0.1}, 13.8),
        ({"rate": 2}, 20),
        ({"rate": 2, "arrivals": "uniform"}, 2),
        ({"start_delay_ms": 30_000}, 90),
        ({"steps": "100 s at 1 users; 10 s at 4 users"}, 100),
    ],
)
def test_the_longest_pause_of_a_load_is_that_of_its_schedule(options: dict[str, Any], pause_s: float) -> None:
    load = TprocCLoad(virtual_users=4, rampup_s=0, **options)
    assert longest_pause_s(load, workload(SPEC), rate_of(SPEC, load)) == pytest.approx(pause_s, rel=0.1)


@pytest.mark.parametrize(("rate", "warned"), [(100, False), (0.1, True)])
def test_only_a_load_that_pauses_for_longer_is_warned_of(rate: float, warned: bool) -> None:
    load = TprocCLoad(virtual_users=4, rampup_s=0, rate=rate)
    plan = RunPlan(run_id="x", target=Target(kind="nulldb", database="x"), workload=SPEC, load=load)
    words = f"{LIMIT}, and users of this load pause for up to 400 s"
    assert (words in too_idle(plan, LIMIT)) is warned


def test_a_session_for_each_operation_is_never_idle() -> None:
    class Engine:
        def timeouts(self, _: object) -> list[Timeout]:
            return [Timeout("statements", 1, "the server"), LIMIT]

    def limit(**options: Any) -> Timeout | None:
        load = TprocCLoad(rampup_s=0, **options)
        plan = RunPlan(run_id="x", target=Target(kind="nulldb", database="x"), workload=SPEC, load=load)
        return idle_timeout(Engine(), plan, None)  # type: ignore[arg-type]

    assert limit() == LIMIT
    assert limit(connect_per_operation=True) is None
