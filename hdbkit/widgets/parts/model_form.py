"""Fields of a form made from a configuration model: one input per field, its label and hint the field's own.

A form depends only on the model, not on a workload or an engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar, Final, get_args

import anywidget
import ipywidgets
import traitlets
from pydantic.fields import FieldInfo

from hdbkit.config.model import unset
from hdbkit.config.sweep_factors import weights_of
from hdbkit.errors import ConfigErrors, InputError
from hdbkit.widgets.parts.base import STATIC

WIDE_LABELS: Final = {"description_width": "148px"}
"""The style of a field in a grid of options."""
MIN_WIDTH_PX: Final = 330
_UNITS: Final = {"s": "s", "ms": "ms", "hz": "Hz"}
_WORDS: Final = {"rampup": "ramp-up", "waits": "samples of waits", "cpu": "CPU", "sql": "SQL"}


class FieldErrors(anywidget.AnyWidget):
    """Marks the fields of its panel that have an error, for eyes and screen readers; nothing moves.

    ``errors`` has the message of each field by its name; the field has the class ``hdbkit-field-NAME``.
    """

    _esm: ClassVar[Any] = STATIC / "field_errors.js"
    errors = traitlets.Dict({}).tag(sync=True)

    def show(self, error: Exception | None) -> None:
        """Mark the fields that an error names; None: no field has one."""
        problems = error.problems if isinstance(error, ConfigErrors) else ()
        self.errors = {re.findall(r"\w+", one.where)[-1]: one.what for one in problems if re.search(r"\w", one.where)}


class ModelForm:
    """Inputs for some fields of a model, by name; ``values`` are those that differ from the defaults."""

    def __init__(self, fields: Mapping[str, FieldInfo]) -> None:
        self._fields = dict(fields)
        self.inputs: dict[str, Any] = {name: named(_plain_input(name, field), name) for name, field in fields.items()}

    @property
    def values(self) -> dict[str, Any]:
        """The values of the inputs; defaults are omitted."""
        shown = {name: _value(self._fields[name], one.value) for name, one in self.inputs.items()}
        return {name: value for name, value in shown.items() if value != default_of(self._fields[name])}

    def show(self, values: Mapping[str, Any]) -> None:
        """Fill the inputs; those without a value show the default."""
        for name, one in self.inputs.items():
            field = self._fields[name]
            one.value = _shown(field, values.get(name, default_of(field)))

    def observe(self, action: Callable[..., None]) -> None:
        """Call ``action`` whenever an input changes."""
        for one in self.inputs.values():
            one.observe(action, "value")

    def pick(self, names: Iterable[str]) -> list[Any]:
        """The inputs of these fields, in this order."""
        return [self.inputs[name] for name in names]


def default_of(field: FieldInfo) -> Any:
    """The default of a field."""
    return field.get_default(call_default_factory=True)


def label_of(name: str) -> str:
    """``rampup_s`` as ``Ramp-up``; its unit is in the field."""
    words, _, unit = name.rpartition("_")
    text = " ".join(_WORDS.get(one, one) for one in (words if unit in _UNITS else name).split("_"))
    return f"{text[:1].upper()}{text[1:]}"


def named(field: Any, name: str) -> Any:
    """Give an input the classes by which its error is found and its unit is shown."""
    unit = name.rpartition("_")[2]
    field.add_class(f"hdbkit-field-{name}")
    return field.add_class("hdbkit-unit").add_class(f"hdbkit-unit-{unit}") if unit in _UNITS else field


def pairs_text(pairs: Mapping[str, Any]) -> str:
    """``rows=1000, width=8``."""
    return ", ".join(f"{name}={value}" for name, value in pairs.items())


def _kinds(field: FieldInfo) -> tuple[type, ...]:
    """The types that a field may have, without None; those of a generic are its origin's."""
    found = get_args(field.annotation) if _optional(field) else (field.annotation,)
    return tuple(getattr(kind, "__origin__", kind) for kind in found if kind is not type(None))


def _optional(field: FieldInfo) -> bool:
    return type(None) in get_args(field.annotation)


def _plain_input(name: str, field: FieldInfo) -> Any:
    (kind,) = _kinds(field)[:1]
    about: dict[str, Any] = {"description": label_of(name), "tooltip": field.description or "", "style": WIDE_LABELS}
    default = _shown(field, default_of(field))
    if kind is bool:
        return ipywidgets.Checkbox(default, **about)
    if issubclass(kind, Enum):
        names = [(_WORDS.get(one.value, one.value.replace("_", " ")), one.value) for one in kind]
        options = [(unset({name: field}).get(name, "not set"), ""), *names] if _optional(field) else names
        return ipywidgets.Dropdown(value=default, options=options, **about)
    if kind in (int, float) and not _optional(field):
        made = ipywidgets.IntText if kind is int else ipywidgets.FloatText  # the model refuses what is out of bounds
        return made(default, **about)
    words = unset({name: field}).get(name, field.description or "")
    hint = {"placeholder": words, "continuous_update": False}
    return ipywidgets.Text(default, **about, **hint)


def _shown(field: FieldInfo, value: Any) -> Any:
    """A value of a field as its input holds it."""
    (kind,) = _kinds(field)[:1]
    if issubclass(kind, Enum):
        return "" if value is None else kind(value).value
    if kind is dict:
        return pairs_text(value or {})
    return "" if value is None else str(value) if _optional(field) or kind is str else value


def _value(field: FieldInfo, shown: Any) -> Any:
    """The value of a field that its input holds."""
    (kind,) = _kinds(field)[:1]
    if issubclass(kind, Enum):
        return kind(shown) if shown else None
    if not isinstance(shown, str):
        return shown
    text = shown.strip()
    if kind is dict:
        try:
            return weights_of(text) if text else {}
        except ValueError as error:
            raise InputError(str(error)) from None
    return None if _optional(field) and not text else text
