"""A list of runs that appears at once: the newest ones first, and all others as soon as they have been read."""

from __future__ import annotations

from collections.abc import Callable

from hdbkit.api.run_list import RunList
from hdbkit.widgets.parts.base import Panel

FIRST_S = 0.25
"""The time for reading what the catalog does not have yet, before a list is shown for the first time."""


def newest_first(panel: Panel, read: Callable[[float | None], RunList], show: Callable[[RunList], None]) -> None:
    """Read and show the newest runs now, and all runs from a thread if that takes longer.

    A list that was read before another one of the panel is not shown after it.

    Args:
        panel: shows the errors of the thread.
        read: ``hdbkit.runs`` with its argument ``within_s``.
        show: called with the list, and once more if ``.attrs["unread"]`` of the first one is not 0.
    """
    show_newest = panel.reading(newest_first)
    newest = read(FIRST_S)
    show_newest(lambda: show(newest))
    if newest.attrs["unread"]:

        def work() -> None:
            runs = read(None)
            show_newest(lambda: show(runs))

        panel.in_background(work)
