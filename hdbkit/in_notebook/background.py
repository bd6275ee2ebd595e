"""Work of panels whose messages to the browser answer no request: in threads, and in callbacks.

ipykernel (7.4) hands what a page sends to a widget to the subshell of the request that the widget's newest message
answered; a thread of ours is taken to answer the last request of all. A subshell ends with its page or its comm; then
whatever a page sends to the widget is lost, and a panel that is opened again stays empty or cannot be stopped. A
message with no parent leaves the route as the page asked for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context

from IPython.core.getipython import get_ipython


def alone(work: Callable[[], object]) -> None:
    """Do ``work`` now; what it sends answers no request."""
    copy_context().run(_answer_none, work)


def background(work: Callable[[], object], name: str) -> None:
    """Do ``work`` alone, in a thread of this name that does not keep the process."""
    threading.Thread(target=alone, args=(work,), name=name, daemon=True).start()


def _answer_none(work: Callable[[], object]) -> None:
    parent = getattr(getattr(get_ipython(), "kernel", None), "_shell_parent", None)
    if isinstance(parent, ContextVar):  # where the kernel keeps one for each thread
        parent.set({})
    work()
