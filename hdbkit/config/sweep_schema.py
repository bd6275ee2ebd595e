"""The JSON schema of sweep files, for editors."""

from __future__ import annotations

import json
from typing import Any

from hdbkit.config.sweep_spec import SweepSpec


def sweep_schema() -> dict[str, Any]:
    """The JSON schema of a sweep file, made from the fields of ``SweepSpec``."""
    made = SweepSpec.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "hdbkit sweep"}


def sweep_schema_text() -> str:
    """The content of ``params/sweep.schema.json``."""
    return json.dumps(sweep_schema(), indent=1) + "\n"
