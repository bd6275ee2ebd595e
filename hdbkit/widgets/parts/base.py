"""The base of all panels: a box with a title, a body, a state line, the Python call it makes, and errors.

Rules that must not break: no panel raises into the notebook from a callback (``guarded`` and ``in_background`` bring
every error to ``fail``), and nothing that is shown holds a password, because all of it is saved with the notebook.
"""

from __future__ import annotations

import html
import threading
import traceback
from collections.abc import Callable, Hashable
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import ipywidgets
import traitlets

from hdbkit.api import DEFAULT, Workspace
from hdbkit.api.run_list import RunList
from hdbkit.config import Target, WorkloadSpec
from hdbkit.errors import HdbkitError
from hdbkit.in_notebook import Slot, alone, background
from hdbkit.widgets.parts.ticker import Ticker, TickerAction, every

STATIC = Path(__file__).parents[1] / "static"
"""The style sheets and browser modules of the panels."""
FIRST_S = 0.25
"""The time for reading what the catalog does not have yet, before a list is shown for the first time."""


class Alert(anywidget.AnyWidget):
    """An error message: the HTML in ``value``. ``focus()`` scrolls it into view, and screen readers then read it."""

    _esm: ClassVar[Any] = STATIC / "alert.js"
    value = traitlets.Unicode("").tag(sync=True)


class State(StrEnum):
    """What the state line of a panel marks beside its text."""

    IDLE = ""
    BUSY = "busy"
    DONE = "done"
    STOPPED = "stopped"


class Shared(traitlets.HasTraits):
    """What the panels of one ``ui()`` share; observe a trait to follow it.

    Args:
        workspace: the workspace that all these panels work in; by default that of this process.
        traits: first values of the traits.

    Example:
        >>> lab = hdbkit.Workspace(results="/data/lab")  # doctest: +SKIP
        >>> hdbkit.widgets.RunPanel(hdbkit.widgets.Shared(workspace=lab))  # doctest: +SKIP
    """

    target = traitlets.Any(None, allow_none=True)
    """The ``hdbkit.Target`` to measure, None until one is chosen."""
    workload = traitlets.Any(None, allow_none=True)
    """The ``WorkloadSpec`` of the chosen workload, whatever its scale; None: the default workload."""
    schema = traitlets.Any(None, allow_none=True)
    """The ``WorkloadSpec`` of the workload's schema in the target's database, None while it is unknown."""
    run_id = traitlets.Unicode("")
    """The newest run that a panel started or attached to."""
    compared = traitlets.List(traitlets.Unicode())
    """The runs that were chosen for a comparison, by their ids."""
    finished = traitlets.Int(0)
    """Grows whenever a run or a sweep ended, so that lists refresh themselves."""

    def __init__(self, *, workspace: Workspace | None = None, **traits: Any) -> None:
        super().__init__(**traits)
        self.workspace = workspace or DEFAULT

    def schema_found(self, target: Target, schema: WorkloadSpec | None) -> None:
        """Note what was found in ``target``; ignored if another target or workload was chosen meanwhile."""
        same = schema is None or self.workload is None or schema.named == self.workload.named
        if target == self.target and same:
            self.schema = schema

    @traitlets.observe("workload")
    def _workload_chosen(self, _: object) -> None:
        self.schema = None


class Panel:
    """One panel: a subclass fills ``body``. It displays itself as the last line of a cell."""

    title: ClassVar[str] = ""

    def __init__(self, shared: Shared | None = None) -> None:
        self.shared = shared if shared is not None else Shared()
        self.body = ipywidgets.VBox().add_class("hdbkit-body")
        self.header = ipywidgets.HTML(f"<h2>{html.escape(self.title)}</h2>").add_class("hdbkit-header")
        self._style = ipywidgets.HTML(f"<style>{_style_sheet()}</style>").add_class("hdbkit-style")
        self._state = ipywidgets.HTML().add_class("hdbkit-state")
        self._error = Alert().add_class("hdbkit-error")
        self._call = ipywidgets.HTML().add_class("hdbkit-call")
        self.root = ipywidgets.VBox([self._style, self.header, self.body, self._state, self._error, self._call])
        self.root.add_class("hdbkit-panel")
        self._tickers: list[Ticker] = []
        self._showing, self._readings = threading.RLock(), dict[Hashable, object]()

    @property
    def workspace(self) -> Workspace:
        """The workspace of all panels that share with this one."""
        return self.shared.workspace

    def show_below(self, *results: ipywidgets.Widget) -> None:
        """Put results below the state line and the errors, so that these stay beside the inputs."""
        *above, call = self.root.children
        self.root.children = (*above, *(one.add_class("hdbkit-result") for one in results), call)

    def say(self, text: str, state: State = State.IDLE) -> None:
        """Show a text in the state line, and mark what it is; "" clears it."""
        mark = f' data-state="{state}"' if state else ""
        said = html.escape(text)
        self._state.value = f'<span role="status" title="{said}"{mark}>{said}</span>' if text else ""

    def fail(self, error: BaseException, *, focus: bool = True) -> None:
        """Show an error as its sentence, with the focus on it by default; the traceback opens on demand."""
        sentence = str(error) if isinstance(error, HdbkitError) else f"{type(error).__name__}: {error}"
        trace = "".join(traceback.format_exception(error))
        self._error.value = (
            f'<div role="alert"><p>{html.escape(sentence)}</p>'
            f"<details><summary>Details</summary><pre>{html.escape(trace)}</pre></details></div>"
        )
        if focus:
            self._error.focus()

    def clear_error(self) -> None:
        """Clear the error that is shown, if there is one."""
        self._error.value = ""

    def show_call(self, code: str) -> None:
        """Show the equivalent Python code, selected by one click; it never holds a password."""
        self._call.value = (
            "<details open><summary>Python code</summary>"
            f'<pre title="click to select all">{html.escape(code)}</pre></details>'
            if code
            else ""
        )

    def guarded(self, action: Callable[[], None]) -> Callable[..., None]:
        """``action`` as a callback for ``on_click`` or ``observe``: clears the last error and shows a new one.

        The error of a button takes the focus; that of a field does not, where somebody types.
        """

        def callback(*given: Any) -> None:
            alone(lambda: work(focus=not any(isinstance(one, dict) for one in given)))

        def work(focus: bool) -> None:
            self.clear_error()
            try:
                action()
            except Exception as error:
                self.fail(error, focus=focus)

        return callback

    def busy_with(self, sentence: str, action: Callable[[], None]) -> None:
        """Show what is being done while ``action`` does it in the background; an error replaces the sentence."""
        self.say(sentence, State.BUSY)

        def work() -> None:
            try:
                action()
            except Exception:
                self.say("")
                raise

        self.in_background(work)

    def in_background(self, action: Callable[[], None]) -> None:
        """Run ``action`` in a thread of its own; an error goes to ``fail``."""

        def work() -> None:
            try:
                action()
            except Exception as error:
                self.fail(error)

        background(work, f"hdbkit-{type(self).__name__}")

    def reading(self, what: Hashable) -> Callable[[Callable[[], None]], None]:
        """Begin a reading; what is returned shows its result, unless another of the same has begun since."""
        mine = self._readings[what] = object()

        def show(action: Callable[[], None]) -> None:
            with self._showing:
                if self._readings[what] is mine:
                    action()

        return show

    def show_runs(self, read: Callable[[float | None], RunList], show: Callable[[RunList], None]) -> None:
        """Read and show the newest runs now, and all runs from a thread if that takes longer.

        Args:
            read: ``hdbkit.runs`` with its argument ``within_s``.
            show: called with the list, and once more if ``.attrs["unread"]`` of the first one is not 0.
        """
        show_newest = self.reading("runs")
        newest = read(FIRST_S)
        show_newest(lambda: show(newest))
        if newest.attrs["unread"]:

            def work() -> None:
                runs = read(None)
                show_newest(lambda: show(runs))

            self.in_background(work)

    def every(self, period_s: float, action: TickerAction) -> Ticker:
        """Call ``action`` until it returns True or the panel is closed; an error ends it too and goes to ``fail``."""
        self._tickers = [ticker for ticker in self._tickers if ticker.alive]
        self._tickers.append(every(period_s, action, self.fail))
        return self._tickers[-1]

    def close(self) -> None:
        """Stop the panel's periodic work; its contents stay."""
        for ticker in self._tickers:
            ticker.cancel()

    def keep(self, still: str, png: bytes | None = None) -> None:
        """Set what the notebook keeps of this panel from now on: HTML, and a picture below it."""
        self.slot.keep(still, png)

    @cached_property
    def slot(self) -> Slot:
        """Where the panel is shown; a panel inside another one shares that one's slot."""
        return Slot(self.root, f"{self.title}: a panel of hdbkit; run the cell to activate it.")

    def _ipython_display_(self) -> None:
        self.slot.show()


def _style_sheet() -> str:
    return (STATIC / "panel.css").read_text(encoding="utf-8")


def first_lines(workspace: Workspace) -> str:
    """The lines before the calls: the import, and the workspace that the calls name."""
    return "import hdbkit\n\n" + ("" if workspace is DEFAULT else f"workspace = hdbkit.{workspace!r}\n")


def call_code(workspace: Workspace, verb: str, *arguments: str) -> str:
    """A call of a verb of a workspace; empty arguments are omitted."""
    owner = "hdbkit" if workspace is DEFAULT else "workspace"
    return f"{owner}.{verb}({', '.join(filter(None, arguments))})"


def target_code(target: Target | None, workspace: Workspace) -> str:
    """The expression for a target, without its password."""
    if target is None:
        return '"kind://user@host:port/database"'
    if target.server_folder is None:
        return f'"{target.given}"'
    if any(target.server_folder == one.server_folder for one in workspace.private_targets()):
        return call_code(workspace, "private", f'"{target.kind}"')
    return f'"{target.server_folder}"'


def panel_code(panel: str, workspace: Workspace) -> str:
    """The expression for a new panel of this class in a workspace; complete, since a notebook may keep it alone."""
    shared = "" if workspace is DEFAULT else f"hdbkit.widgets.Shared(workspace=hdbkit.{workspace!r})"
    return f"hdbkit.widgets.{panel}({shared})"
