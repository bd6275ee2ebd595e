"""One thread for the periodic work of all panels of a kernel.

Widgets are updated from here and not from a thread each, so that watching costs the same however many panels are
open. A period is never shorter than half a second. An action that raises or returns True ends only its own ticker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from hdbkit.in_notebook import background

MIN_PERIOD_S = 0.5
TickerAction = Callable[[], bool | None]
"""What is called; True ends the calls."""


class Ticker:
    """An action that is called once a period until it is cancelled, returns True or raises."""

    def __init__(
        self, period_s: float, action: TickerAction, on_error: Callable[[BaseException], None] | None
    ) -> None:
        self.period_s = max(period_s, MIN_PERIOD_S)
        self.due_s = time.monotonic()
        self.alive = True
        self._action = action
        self._on_error = on_error
        self._calling = threading.RLock()

    def cancel(self) -> None:
        """End the calls, after the one in progress. May be called repeatedly, and from the action."""
        self.alive = False
        with self._calling:
            pass

    def tick(self) -> None:
        """Call the action now; an error ends this ticker and goes to ``on_error``."""
        try:
            with self._calling:
                if self.alive and self._action():
                    self.alive = False
        except Exception as error:
            self.alive = False
            if self._on_error is not None:
                self._on_error(error)
        self.due_s = time.monotonic() + self.period_s


class _Clock:
    """The tickers, and the thread that runs while there are any."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tickers: list[Ticker] = []
        self._running = False

    def add(self, ticker: Ticker) -> None:
        with self._changed:
            self._tickers.append(ticker)
            if not self._running:
                self._running = True
                background(self._run, "hdbkit-ticker")
            self._changed.notify()

    def _next(self) -> Ticker | None:
        """The ticker that is due, after waiting for it; None when there are no more."""
        with self._changed:
            while True:
                self._tickers = [ticker for ticker in self._tickers if ticker.alive]
                if not self._tickers:
                    self._running = False
                    return None
                first = min(self._tickers, key=lambda ticker: ticker.due_s)
                wait_s = first.due_s - time.monotonic()
                if wait_s <= 0:
                    return first
                self._changed.wait(wait_s)

    def _run(self) -> None:
        while (ticker := self._next()) is not None:
            ticker.tick()


_CLOCK = _Clock()


def every(period_s: float, action: TickerAction, on_error: Callable[[BaseException], None] | None = None) -> Ticker:
    """Call ``action`` now and then once in ``period_s`` (0.5 at least), on the one thread for all.

    An exception ends this ticker and goes to ``on_error``. An action should be quick: the others wait for it.
    """
    ticker = Ticker(period_s, action, on_error)
    _CLOCK.add(ticker)
    return ticker
