"""What only the installed engines know of what users write: their other names, storage options, SQL of a folder.

These are the only look-ups against the order of packages. Values that hdbkit itself wrote are read without them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hdbkit.config.model import ConfigModel

if TYPE_CHECKING:
    from hdbkit.config.specs.definition import Definition


@cache
def storage_models() -> Mapping[str, type[ConfigModel]]:
    """By database: the model of its storage options."""
    found = importlib.import_module("hdbkit.databases").schema_option_models()
    return cast("Mapping[str, type[ConfigModel]]", found)


@cache
def storage_fields() -> Mapping[str, Any]:
    """The storage options of all engines, by name; if several engines have one, the first."""
    found: dict[str, Any] = {}
    for model in storage_models().values():
        found |= {name: field for name, field in model.model_fields.items() if name not in found}
    return found


@cache
def kind_and_problem(name: str) -> tuple[str, Mapping[str, str]]:
    """The kind of database that goes by this name, as in ``rediss://``, and the options that the name stands for.

    Another name is taken for a kind.
    """
    return cast("tuple[str, Mapping[str, str]]", importlib.import_module("hdbkit.databases").kind_and_options(name))


def checked_storage(name: str, value: Any) -> Any:
    """The validated value of a storage option; None if it is the default."""
    model = next(one for one in storage_models().values() if name in one.model_fields)
    checked = getattr(model.model_validate({name: value}), name)
    return None if checked == model.model_fields[name].default else checked


def read_workload(folder: Path) -> tuple[Definition, dict[str, dict[str, str]]]:
    """The definition in a workload's folder, and its statements by dialect and name.

    Raises:
        InputError: there is no such folder, or a file of it cannot be read.
        ConfigErrors: with every error of its files.
    """
    found = importlib.import_module("hdbkit.workloads.custom.folder").read_folder(folder)
    return cast("tuple[Definition, dict[str, dict[str, str]]]", found)
