"""The order of warnings: the worst is first."""

from __future__ import annotations

import pickle

from hdbkit.caution import Caution, Kind
from hdbkit.report.card import Card

STEAL = Caution("other machines took 2.8 %", Kind.STEAL, 2.8)
OTHERS = Caution("other processes used 83 %", Kind.OTHERS, 83.0)


def reasons(*warnings: Caution) -> list[str]:
    return [str(caution) for caution in Card("", "", "faster", "", warnings=warnings).reasons]


def test_what_took_most_cpu_time_is_the_first_reason_whatever_its_kind() -> None:
    more_steal = Caution("other machines took 90 %", Kind.STEAL, 90.0)
    assert reasons(STEAL, OTHERS) == [OTHERS, STEAL]
    assert reasons(OTHERS, more_steal) == [more_steal, OTHERS]


def test_a_changed_server_comes_before_any_share_of_cpu_time_and_a_small_cache_after_it() -> None:
    changed, cache = Caution("changed", Kind.CHANGED), Caution("cache", Kind.CACHE)
    assert reasons(cache, OTHERS, changed) == [changed, OTHERS, cache]


def test_a_warning_keeps_its_share_behind_a_head_and_between_processes() -> None:
    for caution in (OTHERS.after("in 7 of 7 runs: "), pickle.loads(pickle.dumps(OTHERS))):
        assert (caution.kind, caution.taken_pct) == (Kind.OTHERS, 83.0)
