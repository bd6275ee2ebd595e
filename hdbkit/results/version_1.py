"""Run folders of format version 1, in the words of version 2: all of them were of one workload, TPROC-C.

The only module of the core that names words of a workload, since version 1 had them in its format. Nothing writes
version 1, and nothing else reads it.
"""

from __future__ import annotations

from typing import Any

from hdbkit.results.columns import COUNTED, FORMAT_VERSION

_METRIC = {
    "name": "NOPM",
    "title": "new orders per minute",
    "unit": "NOPM",
    "operations": ["new_order"],
    "per_s": 60,
    "counter": "count_new_orders",
}
_DETAILS = {"w_id": "int32", "d_id": "uint8", "o_id": "int32"}
_RENAMED = {
    "nopm": "metric_value",
    "transactions": "operations",
    "transactions_per_s": "operations_per_s",
    "client_cpu_us_per_transaction": "client_cpu_us_per_operation",
    "server_cpu_us_per_transaction": "server_cpu_us_per_operation",
    "per_transaction": "per_operation",
}
_MIXES = {"spec": (45.0, 43.0, 4.0, 4.0, 4.0), "hammerdb": (10.0, 10.0, 1.0, 1.0, 1.0)}
_ROLLBACK_SHARES = {"spec": {"new_order": 0.01}, "hammerdb": {}}
_LOAD = {"rampup_most_s": "rampup_max_s"}
_ONE_USER_PER_PROCESS = {"users_per_process": 1}
_DATA = {f"orders_{when}": f"counted_{when}" for when in ("before", "after")}
_REQUIRED = {"least_nopm": "min_value", "best_nopm": "best_value"}

COUNTER = "new_orders"
"""What the schema's own count was called in the table of counters."""


def upgraded(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a ``manifest.json`` of version 1 as version 2 writes it; parts that are not understood stay."""
    plan = _plan(content.get("plan"))
    load = plan.get("load", {}) if isinstance(plan.get("load"), dict) else {}
    rules, operations = str(load.get("input_rules", "spec")), content.get("transactions", [])
    weights = load.get("mix") or dict(zip(operations, _MIXES.get(rules, _MIXES["spec"]), strict=False))
    kept = {name: value for name, value in content.items() if name not in ("transactions", "counted")}
    scale = plan.get("workload", {}).get("warehouses") if isinstance(plan.get("workload"), dict) else None
    return {
        **kept,
        "format_version": FORMAT_VERSION,
        "plan": plan,
        "operations": operations,
        "mix": weights,
        "rollback_shares": _ROLLBACK_SHARES.get(rules, {}),
        "details": _DETAILS,
        "metric": _METRIC,
        "paced": bool(load.get("keying_and_thinking")),
        "workload_title": "TPROC-C",
        "noun": "transaction",
        "scale": f"{scale} warehouse{'' if scale == 1 else 's'}" if scale else "",
        "result": _result(content.get("result")),
    }


def _renamed(content: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in content.items()}


def _plan(plan: Any) -> dict[str, Any]:
    """The plan as today's models read it."""
    if not isinstance(plan, dict):
        return {}
    found = dict(plan)
    if isinstance(plan.get("load"), dict):
        found["load"] = _ONE_USER_PER_PROCESS | _renamed(plan["load"], _LOAD)
    if isinstance(plan.get("limits"), dict):
        limits = {name: value for name, value in plan["limits"].items() if name != "bar"}
        required = plan["limits"].get("bar")
        found["limits"] = {
            **limits,
            "required": _renamed(required, _REQUIRED) if isinstance(required, dict) else None,
        }
    return found


def _result(result: Any) -> dict[str, Any]:
    if not isinstance(result, dict):
        return {}
    found = _renamed(result, _RENAMED)
    counters = found.get("counters")
    if isinstance(counters, dict):
        found["counters"] = _renamed(counters, {COUNTER: COUNTED})
    if isinstance(found.get("data"), dict):
        found["data"] = _renamed(found["data"], _DATA)
    return found
