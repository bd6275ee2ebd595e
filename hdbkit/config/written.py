"""Values that users write as text: files, options, forms and JSON have the text, and code has the parsed value.

A text is parsed when a field is validated, and nowhere else.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from hdbkit.errors import InputError


class Written:
    """Base class: ``parse`` reads a text, and ``str()`` gives the text that ``parse`` reads as the same value."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a text. Raises ``ValueError`` with what is expected."""
        raise NotImplementedError

    @classmethod
    def read(cls, given: Any) -> Self:
        """A value, or what users may write for it. Raises ``ValueError``."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, str):
            raise ValueError(f"must be text, not {given!r}"[:200])
        return cls.parse(given)

    @classmethod
    def given(cls, value: Any) -> Self:
        """A value that a caller gave, as ``read``. Raises ``InputError``."""
        try:
            return cls.read(value)
        except ValueError as error:
            raise InputError(str(error)) from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validated by ``read``, written as text."""
        return core_schema.no_info_plain_validator_function(
            cls.read, serialization=core_schema.to_string_ser_schema(when_used="always")
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Text."""
        return {"type": "string"}
