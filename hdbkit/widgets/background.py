"""Threads beside the kernel's own: what they send to the browser answers no request.

ipykernel (7.4) hands what a widget hears to the subshell of the request that the widget's newest message answered,
and takes a thread of ours to answer the last request of all. The subshell of that one ends with its page or its comm;
then whatever a page sends to the widget is lost, and a panel that is opened again stays empty. A message with no
parent leaves the route as the page asked for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar

from IPython.core.getipython import get_ipython


def background(work: Callable[[], None], name: str) -> None:
    """Do ``work`` in a thread of this name, which does not keep the process."""

    def alone() -> None:
        _answer_no_request()
        work()

    threading.Thread(target=alone, name=name, daemon=True).start()


def _answer_no_request() -> None:
    """Let this thread's messages have no parent, where the kernel keeps one for each thread."""
    parent = getattr(getattr(get_ipython(), "kernel", None), "_shell_parent", None)
    if isinstance(parent, ContextVar):
        parent.set({})
