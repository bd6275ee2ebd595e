"""The panels whose work is a load: one run, the search for the highest rate, and a profile of rising users."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import ipywidgets

from hdbkit import api
from hdbkit.analysis.run.latency_limit import Limit
from hdbkit.api.max_rate import SEARCH_BLOCKS
from hdbkit.api.sides import require_word
from hdbkit.config import Load, SweepSpec, Target, WorkloadSpec
from hdbkit.config.quantities import counts_in
from hdbkit.experiment.kinds.max_rate import MaxRatePlan
from hdbkit.experiment.kinds.profile import ProfilePlan
from hdbkit.plan import RunPlan
from hdbkit.widgets.panels.experiment import ExperimentPanel, ShownResult
from hdbkit.widgets.parts.base import Shared, call_code, first_lines, target_code
from hdbkit.widgets.parts.default_phases import DefaultPhases
from hdbkit.widgets.parts.layout import grid
from hdbkit.widgets.parts.load_form import LoadForm
from hdbkit.widgets.parts.model_form import MIN_WIDTH_PX, WIDE_LABELS
from hdbkit.widgets.parts.run_view import RunView
from hdbkit.widgets.parts.workload_choice import workload_code

_USERS = SweepSpec.model_fields["virtual_users"].default[0]
"""The users at first, as those of a sweep."""


class LoadPanel(ExperimentPanel[ShownResult]):
    """A panel whose work is a load of a workload on a target.

    ``target`` and ``workload`` are what ``hdbkit.run`` takes, by default those that the panels share; ``load`` is
    what the fields show at first, by default phases of seconds on a private server and of minutes elsewhere.
    """

    call: ClassVar[tuple[str, str]]
    """The verb of its code, and the name of what it returns."""
    planned_by: ClassVar[str]
    """The verb that plans it, with the same arguments."""

    def __init__(
        self,
        shared: Shared | None = None,
        *,
        target: Target | str | None = None,
        workload: WorkloadSpec | Path | str | None = None,
        load: Load | None = None,
    ) -> None:
        super().__init__(shared, target=target, workload=workload)
        self.form = LoadForm(load or Load(virtual_users=_USERS), self.choice.spec)
        self._phases = DefaultPhases(Load()) if load is None else None
        self._hide()
        self.form.observe(self.guarded(self.refresh))
        own = self.own_fields()
        for field in own:
            field.observe(self.guarded(self.refresh), "value")
        self.lay_out(*([grid(*own, min_width_px=MIN_WIDTH_PX)] if own else []), self.form.widget)

    unused: ClassVar[tuple[str, ...]] = ()
    """Fields of the load that its own fields replace."""

    def own_fields(self) -> list[ipywidgets.Widget]:
        """Its fields beside those of the load."""
        return []

    @abstractmethod
    def arguments(self, at: Any) -> tuple[list[Any], dict[str, Any]]:
        """The positional arguments of its verb, with ``at`` for the target, and those beside workload and load.

        Raises ``HdbkitError``.
        """

    def asked(self, target: Target) -> Callable[[], Any]:
        plan, (first, more) = getattr(self.workspace, self.planned_by), self.arguments(target)
        load, workload = self.form.load(), self.choice.spec
        return lambda: self.workspace.start_experiment(plan(*first, workload=workload, load=load, **more))

    @property
    def label(self) -> str | None:
        """The label of its runs."""
        return self.form.label.value.strip() or None

    def code(self) -> str:
        """The call of its verb."""
        verb, name = self.call
        first, more = self.arguments(_Code(target_code(self.shared.target, self.workspace)))
        load, workload = self.form.code(), workload_code(self.choice.spec)
        named = [f"{name}={value!r}" for name, value in more.items() if value is not None]
        words = [*map(repr, first), workload and f"workload={workload}", "load=load", *named]
        call = call_code(self.workspace, verb, *words)
        return f"{first_lines(self.workspace)}load = {load}\n{name} = {call}\n{name}"

    def _hide(self) -> None:
        for name in self.unused:
            (self.form.label if name == "label" else self.form.fields[name]).layout.display = "none"

    def use_shared(self) -> None:
        if self.form.spec != self.choice.spec:
            self.form.use(self.choice.spec)
            self._hide()
        if self._phases is not None:
            self._phases.use(self.shared.target, *(self.form.fields[name] for name in ("rampup_s", "duration_s")))
        self.refresh()


class RunPanel(LoadPanel[api.Result]):
    """Choose a workload and a load, run it, watch it, keep its result. The arguments are those of ``LoadPanel``.

    Example:
        >>> hdbkit.widgets.RunPanel(target="lab", load=hdbkit.Load(virtual_users=8))  # doctest: +SKIP
    """

    title, noun, attaches, shows = "Run", "run", "attach", RunView
    verb, plans = ("Run", "start a run of this load"), (RunPlan,)
    call = ("run", "result")

    def asked(self, target: Target) -> Callable[[], api.Running]:
        load, workload, label = self.form.load(), self.choice.spec, self.label
        return lambda: self.workspace.start(target, workload, load, label=label)

    def arguments(self, at: Any) -> tuple[list[Any], dict[str, Any]]:
        return [at], {"label": self.label}

    def show_plan(self, plan: RunPlan) -> None:
        self.form.show(plan.load)
        self.form.label.value = plan.label or ""


class MaxRatePanel(LoadPanel[api.MaxRate]):
    """Choose a limit on the response time and a load, and search for the highest rate that keeps it.

    The arguments are those of ``LoadPanel``.

    Example:
        >>> hdbkit.widgets.MaxRatePanel(target="lab", load=hdbkit.Load(virtual_users=50))  # doctest: +SKIP
    """

    title, noun = "Highest rate", "search"
    verb, plans = ("Search", "search the highest rate within the limit"), (MaxRatePlan,)
    call, planned_by = ("find_max", "found"), "plan_max_rate"

    def own_fields(self) -> list[ipywidgets.Widget]:
        """The limit, and the number of blocks."""
        self.limit = text_field("Limit", "p95=20ms")
        self.blocks = blocks_field(SEARCH_BLOCKS, 2)
        return [self.limit, self.blocks]

    def arguments(self, at: Any) -> tuple[list[Any], dict[str, Any]]:
        Limit.given(self.limit.value)
        return [at, self.limit.value], {"blocks": self.blocks.value, "label": self.label}

    def show_plan(self, plan: MaxRatePlan) -> None:
        """Fill the fields from a search."""
        self.form.show(plan.load)
        self.limit.value, self.blocks.value = str(plan.limit), plan.blocks
        self.form.label.value = "" if plan.label == plan.experiment_id else plan.label


class ProfilePanel(LoadPanel[api.Profile]):
    """Choose a name, user counts and a load, and run the load at each count.

    The arguments are those of ``LoadPanel``.

    Example:
        >>> hdbkit.widgets.ProfilePanel(target="lab", load=hdbkit.Load(duration_s=60))  # doctest: +SKIP
    """

    title, noun = "Profile", "profile"
    verb, plans = ("Run the profile", "a run at each user count in each block"), (ProfilePlan,)
    call, planned_by = ("profile", "profile"), "plan_profile"
    unused = ("virtual_users", "label")

    def own_fields(self) -> list[ipywidgets.Widget]:
        """The name, the user counts and the number of blocks."""
        self.name, self.users = text_field("Name", "profile"), text_field("Users", "1, 2, 4, 8")
        self.blocks = blocks_field(3)
        return [self.name, self.users, self.blocks]

    def arguments(self, at: Any) -> tuple[list[Any], dict[str, Any]]:
        require_word(self.name.value.strip(), "a profile's name")
        counts = list(counts_in(self.users.value, "users"))
        return [self.name.value.strip(), at], {"virtual_users": counts, "blocks": self.blocks.value}

    def show_plan(self, plan: ProfilePlan) -> None:
        self.form.show(plan.sides[0].load)
        self.name.value, self.blocks.value = plan.name, plan.blocks
        self.users.value = ", ".join(map(str, plan.virtual_users))


class _Code(str):
    """An expression as an argument, which is written as it is."""

    __slots__ = ()
    __repr__ = str.__str__


def text_field(name: str, value: str = "", hint: str = "") -> ipywidgets.Text:
    """A field for a text, beside those of a load."""
    return ipywidgets.Text(value, description=name, placeholder=hint, continuous_update=False, style=WIDE_LABELS)


def blocks_field(value: int, least: int = 1) -> ipywidgets.BoundedIntText:
    """A field for the number of blocks."""
    return ipywidgets.BoundedIntText(value, min=least, max=1000, description="Blocks", style=WIDE_LABELS)
