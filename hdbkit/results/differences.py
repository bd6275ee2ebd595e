"""What differs between runs: options of schema and load, and settings of the server, as columns of a frame."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hdbkit.config.quantities import quantity, quantity_text
from hdbkit.later import pandas as pd
from hdbkit.plan import RunPlan
from hdbkit.results.folder import RunFolder
from hdbkit.results.kept import known_settings
from hdbkit.text import many

_Setting = tuple[str, str | None]
"""A setting's value, and the server's default if that is known; texts with units."""
OWN_VALUES = frozenset({"seed"})
"""Options that differ from run to run by themselves."""
_UNIT = re.compile(r"([1-9]\d*)?([A-Za-z]+)")
_BETWEEN = " | "
"""Between the values of a setting that alternates within a run."""
_MAX_PARTS = 3
"""What differs is cut to so many parts in a name."""
_BESIDE = frozenset({"duration_s", "rampup_s", "rampup_max_s"})
"""Options that distinguish runs less than their age does."""


def settings_of(folder: RunFolder, plan: RunPlan) -> dict[str, _Setting]:
    """The settings of a run that somebody changed or a sweep varied; none where they cannot be read.

    Left out are those that only state where the server is: its port, and paths.
    """
    changed = {
        name: (_text(one.value, one.unit), _text(one.default, one.unit))
        for name, one in known_settings(folder).items()
        if one.changed
    }
    port = str(plan.target.port)
    kept = {name: one for name, one in changed.items() if one[0] != port and not str(one[0]).startswith("/")}
    return {name: (value or "", default) for name, (value, default) in kept.items()} | _swept(plan, changed)


def differing_values(runs: pd.DataFrame, details: pd.DataFrame) -> pd.DataFrame:
    """A column for each option and setting in which the runs differ; the rows are those of ``runs``.

    Args:
        runs: a row per run, as the catalog lists them.
        details: their ``options`` and ``settings`` as JSON, as the catalog has them.

    An option that is not set is missing; it differs if another run of the same workload sets it. A setting that
    nobody changed has its default, as another run of the same engine, best of the same version, states it.
    """
    chosen = _by_run(details["options"], lambda texts: [json.loads(one) for one in texts])
    chosen = chosen.drop(columns=[name for name in chosen if name in runs or name in OWN_VALUES])
    set_by_some = chosen.notna().groupby(runs["workload"]).mean()
    own = [name for name in chosen if _several(chosen[name]) or set_by_some[name].between(0, 1, "neither").any()]
    servers = list(zip(runs["database"], runs["version"].fillna(""), details["settings"], strict=True))
    on_server = _by_run(pd.Series(servers, index=runs.index, dtype=object), _with_defaults)
    varied = [name for name in on_server if name not in own and name not in runs and _several(on_server[name])]
    found = chosen[own].join(on_server[varied])
    return found.apply(_numbers)


def configurations_of(differences: pd.DataFrame) -> pd.Series[str]:
    """The differing values of each run as one text: ``partitions=4, shared_buffers=1GB``."""
    columns = []
    for name, values in differences.items():
        places, distinct = pd.factorize(values)
        texts = [*(f"{name}={f'{one:g}' if isinstance(one, float) else one}" for one in distinct.tolist()), ""]
        columns.append([texts[one] for one in places])
    each = (
        [", ".join(filter(None, row)) for row in zip(*columns, strict=True)] if columns else [""] * len(differences)
    )
    return pd.Series(each, index=differences.index, dtype=object)


def short_names(runs: pd.DataFrame, differences: pd.DataFrame) -> pd.Series[str]:
    """A name for each run: its label, and what differs from the other runs of its label or experiment.

    Args:
        runs: a row per run, as the catalog lists them.
        differences: their differing options and settings, as :func:`differing` finds them.

    Runs without a label and an experiment are named by what differs among them. Names are not unique: runs that
    differ in nothing have the same one.
    """
    label = runs["label"].fillna("").astype(str)
    together = pd.factorize(label.where(label != "", runs["experiment_id"].fillna("").astype(str)))[0]
    texts, varied = [], []
    for values in _parts(runs, differences):
        places, distinct = pd.factorize(values)
        by_group = pd.Series(places).groupby(together)
        varied.append((by_group.transform("min") != by_group.transform("max")).to_numpy())
        words = [*distinct.tolist(), ""]
        texts.append([words[one] for one in places])
    found = []
    for row, own in enumerate(label):
        parts = [text[row] for text, several in zip(texts, varied, strict=True) if several[row] and text[row]]
        found.append(", ".join(filter(None, [own, *parts[:_MAX_PARTS]])) or f"{texts[0][row]}, {texts[1][row]}")
    return pd.Series(found, index=runs.index, dtype=object)


def side_names(runs: pd.DataFrame, differences: pd.DataFrame, sides: Sequence[int]) -> tuple[str, str]:
    """The names of two sides of a comparison, by what differs: labels, else server, users, options and settings.

    ``sides`` has 0 or 1 for each row of ``runs``. Where nothing differs they are named by when they began.
    """
    labels = runs["label"].fillna("").astype(str)
    named = [_one_each(values, sides) for values in [labels, *_parts(runs, differences)]]
    if named[0] is not None:
        return named[0]
    known = [one for one in named[1:] if one is not None][:_MAX_PARTS]
    if not known:
        times = runs["started"].fillna("").astype(str).str[11:19]
        began = [min(at for at, one in zip(times, sides, strict=True) if one == side) for side in (0, 1)]
        known = [(f"run of {began[0]}", f"run of {began[1]}")] if all(began) else [("base", "new")]
    base, new = (", ".join(one[side] for one in known) for side in (0, 1))
    return (base, new) if base != new else (f"{base} (base)", f"{new} (new)")


def _one_each(values: pd.Series[str], sides: Sequence[int]) -> tuple[str, str] | None:
    """The values of both sides, if all runs of a side have the same and the sides different ones."""
    base, new = ({one for one, at in zip(values, sides, strict=True) if at == side} for side in (0, 1))
    if len(base) == len(new) == 1 and base != new and all([*base, *new]):
        return base.pop(), new.pop()
    return None


def _parts(runs: pd.DataFrame, differences: pd.DataFrame) -> list[pd.Series[str]]:
    """What a run is named by, as texts, the most telling part first: server, users, options and settings."""
    users = runs["virtual_users"].map({one: many(int(one), "user") for one in runs["virtual_users"].unique()})
    parts = [runs["version"].fillna(runs["database"]).astype(str), users]
    for name in differences:
        if name not in _BESIDE:
            places, distinct = pd.factorize(differences[name])
            plain = [f"{one:g}" if isinstance(one, float) else str(one) for one in distinct.tolist()]
            texts = [*(f"{name}={one}" for one in plain), ""]
            parts.append(pd.Series([texts[one] for one in places], index=runs.index, dtype=object))
    return parts


def _swept(plan: RunPlan, read: Mapping[str, tuple[str | None, str | None]]) -> dict[str, _Setting]:
    """The settings that a sweep gave the run, with all values of those that alternate within it."""
    alternating = plan.slices.settings if plan.slices else [plan.experiment.settings if plan.experiment else {}]
    values: dict[str, list[str]] = {}
    for one in alternating:
        for name, value in one.items():
            values.setdefault(name, []).append(_text(value, None) or "")
    return {
        name: (_BETWEEN.join(dict.fromkeys(given)), read.get(name, (None, None))[1]) for name, given in values.items()
    }


def _by_run(content: pd.Series[Any], read: Callable[[Sequence[Any]], list[dict[str, Any]]]) -> pd.DataFrame:
    """What ``read`` makes of the content of each run, as columns; equal contents are read once."""
    places, distinct = pd.factorize(content)
    return pd.DataFrame(read(list(distinct)), dtype=object).take(places).set_axis(content.index)


def _with_defaults(servers: Sequence[tuple[str, str, str]]) -> list[dict[str, str]]:
    """The settings of each engine, version and settings as JSON; those that it lacks have their defaults."""
    settings = [json.loads(one) for *_, one in servers]
    defaults: dict[tuple[str, str], dict[str, str]] = {}
    for (kind, version, _), of_run in zip(servers, settings, strict=True):
        known = {name: default for name, (_, default) in of_run.items() if default is not None}
        defaults.setdefault((kind, version), {}).update(known)
        defaults.setdefault((kind, ""), {}).update(known)
    return [
        {**defaults[kind, ""], **defaults[kind, version], **{name: value for name, (value, _) in of_run.items()}}
        for (kind, version, _), of_run in zip(servers, settings, strict=True)
    ]


def _several(values: pd.Series[Any]) -> bool:
    return len({str(one) for one in values.dropna().unique()}) > 1


def _numbers(values: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers as numbers, where all known values are some."""
    known = values.dropna()
    if any(isinstance(one, bool) for one in known):
        return values
    converted = pd.to_numeric(values, errors="coerce")
    return converted if converted.notna().sum() == len(known) else values


def _text(value: Any, unit: str | None) -> str | None:
    """A value with its unit, in the largest in which it is whole: 16384 of ``8kB`` is ``128MB``."""
    if value is None:
        return None
    text, found = str(value), _UNIT.fullmatch(unit or "")
    number = quantity(f"{text}{found[2]}" if found else text)
    if number is None or number.amount <= 0 or (number.unit == "" and not found):
        return text
    return quantity_text(replace(number, amount=number.amount * int((found and found[1]) or 1), unit=""))
