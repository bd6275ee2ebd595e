"""The live view of what sessions wait for."""

from __future__ import annotations

from pathlib import Path

from hdbkit.execution import waits
from hdbkit.execution.live import LiveWaits


def test_waits_are_those_of_the_loads_sessions_since_the_last_look(tmp_path: Path) -> None:
    (tmp_path / "00000.sessions").write_text('{"t_ns": 1, "virtual_user": 0, "number": 7}\n')
    samples, view = tmp_path / waits.WAITS_FILE, LiveWaits(tmp_path)
    samples.write_text('{"rows": [[7, "lock", "", "", null, 0]]}\n')
    assert view.new(1) is None, "what is there already is past"
    with samples.open("a") as file:
        file.write('{"rows": [[7, "log", "", "", null, 0], [8, "disk", "", "", null, 0]]}\n{"rows": []}\n{"rows"')
    found = view.new(1)
    assert found is not None
    assert {name: sessions for name, sessions in found.items() if sessions} == {"log": 0.5}
    assert view.new(1) is None
