"""The installed workloads' models of specification and load, and which of them has given keys.

Code names a class: ``TprocCLoad(mix=...)``. What was written elsewhere (a file, options of a command line, a request,
a stored plan) is read by :func:`load_from` and :func:`spec_from`, which choose the class by its keys, and by fields
of the types ``AnyLoad`` and ``AnyWorkload``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    SerializeAsAny,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hdbkit.config.files import read_yaml, validate
from hdbkit.config.installed import storage_fields, storage_models
from hdbkit.config.load import Load
from hdbkit.config.model import ConfigModel, has_mark
from hdbkit.config.problems import did_you_mean
from hdbkit.config.specs.custom import CustomLoad, CustomSpec
from hdbkit.config.specs.tproc_c import TprocCLoad, TprocCSpec
from hdbkit.config.specs.tproc_h import TprocHLoad, TprocHSpec
from hdbkit.config.workload_spec import WorkloadSpec
from hdbkit.errors import ConfigErrors, Problem

Base = TypeVar("Base", bound=ConfigModel)


@dataclass(frozen=True)
class Models:
    """The models of a workload and its title; ``in_folder``: users define it in a folder."""

    title: str
    spec: type[WorkloadSpec]
    load: type[Load]
    in_folder: bool = False


MODELS: Final[Mapping[str, Models]] = MappingProxyType({
    "tproc_c": Models("TPROC-C", TprocCSpec, TprocCLoad),
    "tproc_h": Models("TPROC-H", TprocHSpec, TprocHLoad),
    "custom": Models("user-defined", CustomSpec, CustomLoad, in_folder=True),
})  # fmt: skip
"""By kind."""
DEFAULT_KIND: Final = next(kind for kind, one in MODELS.items() if one.spec.is_default)


class OtherSpec(WorkloadSpec):
    """The specification of a workload that is not installed here, with all of its keys."""

    model_config = ConfigDict(extra="allow")


class OtherLoad(Load):
    """The load of a workload that is not installed here, with all of its keys."""

    model_config = ConfigDict(extra="allow")


def load_from(values: Mapping[str, Any]) -> Load:
    """The load that these keys describe. Raises ``ConfigErrors`` with all errors.

    Example:
        >>> type(load_from({"virtual_users": 8, "mix": {"payment": 1}})).__name__
        'TprocCLoad'
    """
    return load_class(values)(**values)


def spec_from(values: Mapping[str, Any]) -> WorkloadSpec:
    """The specification that these keys describe, by ``kind`` or of the default workload. Raises ``ConfigErrors``.

    Example:
        >>> spec_from({"kind": "tproc_h", "scale_factor": 10})
        TprocHSpec(kind='tproc_h', seed=1, storage={}, scale_factor=10.0, schema_from=..., indexes=...)
    """
    try:
        model = spec_class(values)
    except ValueError as error:
        raise ConfigErrors(WorkloadSpec.noun, [Problem("kind", str(error))]) from None
    return model(**values)


def read_load(path: Path) -> Load:
    """Read the load in a file. Raises ``ConfigErrors`` with all errors and their lines."""
    content, lines = read_yaml(path)
    model = load_class(content) if isinstance(content, dict) else Load
    return validate(content, model, source=str(path), lines=lines)


def load_class(values: Mapping[str, Any]) -> type[Load]:
    """The class that has most of the keys that ``Load`` has not; ``Load`` if none has any of them."""
    others = values.keys() - Load.model_fields.keys()
    models = [one.load for one in MODELS.values()]
    best = max(models, key=lambda model: len(others & model.model_fields.keys()))
    return best if others & best.model_fields.keys() else Load


def spec_class(values: Mapping[str, Any]) -> type[WorkloadSpec]:
    """The class of the given kind, or of the default workload. Raises ``ValueError`` for an unknown kind."""
    kind = values.get("kind", DEFAULT_KIND)
    if not isinstance(kind, str) or kind not in MODELS:
        close = did_you_mean(str(kind), list(MODELS))
        raise ValueError(f"there is no workload '{kind}' (known: {', '.join(MODELS)}).{close}")
    return MODELS[kind].spec


def load_fields() -> dict[str, Any]:
    """The fields of the loads of all workloads, by name."""
    return _fields(Load, [one.load for one in MODELS.values()])


def spec_fields(storage: bool = True) -> dict[str, Any]:
    """The fields of all specifications that users write, by name; ``storage`` options of all engines among them.

    Who needs none of these options leaves them out: to know them, all engines are imported.
    """
    found = {**_fields(WorkloadSpec, [one.spec for one in MODELS.values()]), **(storage_fields() if storage else {})}
    return {name: field for name, field in found.items() if not has_mark(field, "filled_in")}


def _fields(base: type[Base], models: list[type[Base]]) -> dict[str, Any]:
    found = dict(base.model_fields)
    for model in models:
        found |= {name: field for name, field in model.model_fields.items() if name not in found}
    return found


def _load(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    return load_class(value).model_validate(value) if isinstance(value, dict) else handler(value)


def _spec(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    return spec_class(value).model_validate(value) if isinstance(value, dict) else handler(value)


class _LoadSchema:
    """The JSON schema of a load, with the keys of all workloads."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return _with_all(handler(core_schema), handler, load_fields(), [one.load for one in MODELS.values()])


class _SpecSchema:
    """The JSON schema of a specification, with the keys of all workloads; storage options are keys beside them."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        models = [*storage_models().values(), *(one.spec for one in MODELS.values())]
        return _with_all(handler(core_schema), handler, spec_fields(), models)


def _with_all(
    made: JsonSchemaValue, handler: GetJsonSchemaHandler, fields: Mapping[str, Any], models: Sequence[type[BaseModel]]
) -> JsonSchemaValue:
    """The schema ``made`` of a base, which accepts the fields of all ``models`` as well and requires none."""
    whole = handler.resolve_ref_schema(made)
    properties = whole["properties"]
    for model in models:
        of_model = model.model_json_schema()
        own = _inlined(of_model["properties"], of_model.get("$defs", {}))
        properties |= {name: one for name, one in own.items() if name in fields and name not in properties}
    whole |= {"properties": properties, "required": []}
    return made


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    """A JSON schema with its references resolved."""
    if isinstance(node, list):
        return [_inlined(one, definitions) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return {**_inlined(definitions[node["$ref"].rpartition("/")[2]], definitions), **rest}
    return {key: _inlined(value, definitions) for key, value in node.items() if key != "$defs"}


AnyLoad = Annotated[SerializeAsAny[Load], WrapValidator(_load), _LoadSchema()]
"""A load of any workload: read as the class that has its keys, and written with all of them."""
AnyWorkload = Annotated[SerializeAsAny[WorkloadSpec], WrapValidator(_spec), _SpecSchema()]
"""A specification of any workload: read as the class of its kind, and written with all of its keys."""
