"""Which workload the panels mean: a built-in one, an example, or a folder that defines one.

The choice is the trait ``workload`` of what the panels share: a specification without scale and options, which any
schema of the workload meets. Each panel has a choice of its own; all show the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from hdbkit.config import WorkloadSpec
from hdbkit.config.model import has_mark
from hdbkit.config.specs import MODELS
from hdbkit.config.workload_spec import identifies_schema, is_filled_in
from hdbkit.errors import HdbkitError
from hdbkit.paths import data_folder
from hdbkit.widgets.parts.base import Shared
from hdbkit.widgets.parts.layout import grid
from hdbkit.widgets.parts.model_form import MIN_WIDTH_PX, WIDE_LABELS, ModelForm
from hdbkit.workloads import specification, workload

_FOLDER = ("a folder ...", "")


class WorkloadChoice:
    """A list of workloads, a field for a folder, and the fields that state which schema is meant."""

    def __init__(self, shared: Shared, guarded: Callable[[Callable[[], None]], Callable[..., None]]) -> None:
        self._shared, self._quiet = shared, False
        self.list = ipywidgets.Dropdown(description="Workload", options=_known(), style=WIDE_LABELS)
        self.folder = ipywidgets.Text(
            description="Folder", placeholder="folder with workload.yaml", continuous_update=False, style=WIDE_LABELS
        )
        self.fields = ModelForm({})
        self.box = ipywidgets.VBox()
        self._show()
        self.list.observe(guarded(self._chosen), "value")
        self.folder.observe(guarded(self._named), "value")
        shared.observe(lambda _: self._show(), "workload")

    @property
    def spec(self) -> WorkloadSpec:
        """The workload that is chosen."""
        return chosen(self._shared)

    def _chosen(self) -> None:
        if self._quiet:
            return
        if not self.list.value:
            self.folder.layout.display = ""
            return
        self._shared.workload = specification(self.list.value)

    def _named(self) -> None:
        if not self._quiet and self.folder.value.strip():
            self._shared.workload = specification(self.folder.value.strip())

    def _typed(self) -> None:
        if not self._quiet:
            self._shared.workload = self.spec.identity.with_(**self.fields.values)

    def _show(self) -> None:
        """Show the workload that the panels share, whoever chose it."""
        spec, known = self.spec, {value for _, value in self.list.options}
        self._quiet = True
        try:
            self.list.value = spec.named if spec.named in known else ""
            self.folder.value = "" if spec.named in known else spec.named
            self.folder.layout.display = "none" if spec.named in known else ""
            self._show_fields(spec)
        finally:
            self._quiet = False

    def _show_fields(self, spec: WorkloadSpec) -> None:
        own = _identifying(spec)
        if own.keys() != self.fields.inputs.keys():
            self.fields = ModelForm(own)
            self.fields.observe(lambda _: self._typed())
        self.fields.show(spec.model_dump(include=set(own)))
        self.box.children = [grid(self.list, self.folder, *self.fields.inputs.values(), min_width_px=MIN_WIDTH_PX)]


def chosen(shared: Shared) -> WorkloadSpec:
    """The workload that the panels share, by default the first."""
    return specification() if shared.workload is None else shared.workload


def schema_text(spec: WorkloadSpec) -> str:
    """A schema in words: ``a schema of key-value, 100,000 rows``."""
    of = workload(spec)
    return f"a schema of {', '.join(filter(None, [of.title, of.scale]))}"


def workload_code(spec: WorkloadSpec) -> str:
    """The Python expression that gives the workload of a specification; empty for the default one."""
    if spec.model_dump(include=set(_identifying(spec)), exclude_defaults=True):
        return spec_code(spec.identity)
    return "" if spec.named == specification().named else repr(spec.named)


def spec_code(spec: WorkloadSpec) -> str:
    """The Python expression that gives a specification again; defaults are omitted."""
    fields = type(spec).model_fields
    given = {name: one for name, one in spec.fields.items() if name in fields and not is_filled_in(fields[name])}
    given |= {"storage": spec.storage} if spec.storage else {}
    return f"hdbkit.{type(spec).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def _identifying(spec: WorkloadSpec) -> dict[str, Any]:
    """The fields that state which schema is meant, beside those that name the workload."""
    fields = type(spec).model_fields.items()
    return {name: field for name, field in fields if identifies_schema(field) and not has_mark(field, "named")}


def _known() -> list[tuple[str, str]]:
    """The workloads to choose from: what people call each, and what ``specification`` takes."""
    built_in = [(of.title, kind) for kind, of in MODELS.items() if not of.in_folder]
    return [*built_in, *_examples(), _FOLDER]


def _examples() -> list[tuple[str, str]]:
    """The workloads that the project's own folders define; one that cannot be read is left out."""
    found = []
    for path in sorted((data_folder("params") / "workloads").glob("*/")):
        try:
            found.append((workload(specification(path)).title, str(path)))
        except HdbkitError:
            continue
    return found
