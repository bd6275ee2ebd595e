"""The bases of configuration values: frozen models without unknown fields, and values that are written as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from hdbkit.config.problems import problems_of
from hdbkit.errors import ConfigErrors

Init = TypeVar("Init", bound=Callable[..., None])
_UNSET = re.compile(r"; none: (.+)$")


def _only_for_calls(init: Init) -> Init:
    """Make pydantic build nested values without this constructor.

    Otherwise the first nested value with an error would hide all other errors, and their lines.
    """
    init.__pydantic_base_init__ = True  # type: ignore[attr-defined]
    return init


class ConfigModel(BaseModel):
    """A frozen value. Invalid values raise :class:`~hdbkit.errors.ConfigErrors` with all errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)

    noun: ClassVar[str] = "the configuration"
    """What users call such a value; errors of a value that is not from a file name it."""

    @classmethod
    def source(cls, values: Mapping[str, Any]) -> str:  # noqa: ARG003 - a subclass reads them
        """What an error of ``values`` names: what the user wrote."""
        return cls.noun

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What a repr shows: the fields that are not as by default."""
        for name, value in super().__repr_args__():
            field = type(self).model_fields.get(name or "")
            if field is None or field.is_required() or value != field.get_default(call_default_factory=True):
                yield name, value

    if not TYPE_CHECKING:  # a signature of its own would hide the fields from type checkers

        @_only_for_calls
        def __init__(self, /, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise ConfigErrors(self.source(values), problems_of(error, type(self))) from None


def unset(fields: Mapping[str, FieldInfo]) -> dict[str, str]:
    """What happens without a value, for each field whose description states it: ``none: the server's default``."""
    found = {name: _UNSET.search(field.description or "") for name, field in fields.items()}
    return {name: text[1] for name, text in found.items() if text}


def has_mark(field: Any, mark: str) -> bool:
    """Whether a field is marked in its ``json_schema_extra``: ``filled_in``, ``identifies_schema``, ``named``; or
    ``after_load``, if rows do not depend on it."""
    return bool((field.json_schema_extra or {}).get(mark))
