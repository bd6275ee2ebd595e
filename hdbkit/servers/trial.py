"""Trial of settings by the server's own program, before a sweep: would the server start with them?

No server is started. A trial needs programs of the server's version on this host, and covers only settings that need
a restart; texts are omitted, because they may name files or libraries of another host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hdbkit.contracts import ApplyBy, Setting
from hdbkit.errors import ServerFailed
from hdbkit.servers.place import Binaries
from hdbkit.servers.values import plain_value, problem_in, same_value

_TRIED = ("bool", "enum", "integer", "real", "size")
MAX_TRIED = 200
"""A trial takes some 30 ms; those beyond are tried by the server itself, in their runs."""


def trial_errors(
    kind: str, version: str, known: Mapping[str, Setting], configurations: Sequence[Mapping[str, str]]
) -> list[str]:
    """One sentence for each configuration with which a server of this ``version`` would not start."""
    asked = {tuple(_at_start(one, known).items()): None for one in configurations}
    wanted = [dict(one) for one in asked if one][:MAX_TRIED]
    binaries = _programs(kind, version) if wanted else None
    if binaries is None:
        return []
    from hdbkit.servers import launcher

    present = {
        one.name: one.value
        for one in known.values()
        if _is_tried(one) and one.default is not None and not same_value(one, one.default, one.value)
    }
    try:
        with launcher(kind).trial(binaries, present) as error_with:
            if error_with({}):  # its present settings do not fit these programs, so that the trial proves nothing
                return []
            found = [(one, error_with(one)) for one in wanted]
    except ServerFailed:
        return []
    return [f"the server would not start with {_listed(one)}: {reason}" for one, reason in found if reason]


def _at_start(configuration: Mapping[str, str], known: Mapping[str, Setting]) -> dict[str, str]:
    """The values of a configuration that are tried."""
    return {
        name: plain_value(known[name], value)
        for name, value in configuration.items()
        if name in known and _is_tried(known[name]) and problem_in(known[name], value) is None
    }


def _is_tried(setting: Setting) -> bool:
    return setting.apply_by is ApplyBy.RESTART and setting.kind in _TRIED


def _programs(kind: str, version: str) -> Binaries | None:
    """The programs of exactly this version on this host; None if there are none."""
    from hdbkit.servers import launcher, startable_kinds

    number = re.search(r"\d+(\.\d+)*", version)
    found = launcher(kind).find() if kind in startable_kinds() and number else []
    return next((one for one in found if number and one.version == number[0]), None)


def _listed(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())
