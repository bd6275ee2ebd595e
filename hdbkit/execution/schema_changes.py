"""What of a schema was changed while a run measured: its parts then measured different plans or other work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hdbkit.caution import Caution, Kind

Objects = Mapping[tuple[str, str], str]
"""By kind and name of each object, a text that changes with its definition."""
_LISTED = 5


def schema_changes(before: Objects, after: Objects) -> list[Caution]:
    """A warning that names what was added, removed and altered; none if nothing was, or either is unknown."""
    if not before or not after or before == after:
        return []
    named = [*_named(before, after)]
    more = f" and {len(named) - _LISTED} more" if named[_LISTED:] else ""
    text = f"the schema was changed while the run measured: {', '.join(named[:_LISTED])}{more}"
    return [Caution(text, Kind.SCHEMA)]


def _named(before: Objects, after: Objects) -> Iterator[str]:
    """Each object with what happened to it; columns, indexes and triggers go and come with their table."""
    tables = {name for kind, name in before.keys() ^ after.keys() if kind == "table"}
    for kind, name in sorted({*before, *after}):
        if kind != "table" and name.partition(".")[0] in tables:
            continue
        if (kind, name) not in before:
            yield f"{kind} {name} was added"
        elif (kind, name) not in after:
            yield f"{kind} {name} was removed"
        elif before[kind, name] != after[kind, name]:
            yield f"{kind} {name} was altered"
