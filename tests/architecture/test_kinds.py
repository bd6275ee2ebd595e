"""Nothing but a kind's own module, and the verbs and panels that plan it, asks for the kind of an experiment."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hdbkit.experiment.kinds import built_in, kind_named
from tests.architecture.source_tree import ROOT, modules, nodes, parsed, within

OWN = ROOT / "hdbkit" / "experiment" / "kinds"
PLANS = {kind_named(name).plan.__name__ for name in built_in()}
RESULTS = {"Comparison", "MaxRate", "Profile", "Releases", "SweepResult"}
LIMITS = {"hdbkit/cli/in_turn.py": 1}
"""By file, the number of branches that are left: ``compare --run`` shows a comparison with its gate."""


def branches(tree: ast.Module) -> Iterator[ast.AST]:
    """What asks for a kind: by the class of a plan or result in a check, or by the name of the kind."""
    for node in nodes(tree):
        asked: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
                asked = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
            case ast.MatchClass(cls=kind):
                asked = [kind]
            case ast.Dict(keys=keys):
                asked = [key for key in keys if key is not None]
            case ast.Compare(left=left, comparators=others):
                asked = [left, *others]
                if isinstance(left, ast.Attribute) and left.attr == "kind" and _names(others) & set(built_in()):
                    yield node
        yield from (one for one in asked if _name(one) in PLANS | RESULTS)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _names(others: list[ast.expr]) -> set[object]:
    """The constants among these expressions, and in their tuples."""
    return {one.value for other in others for one in ast.walk(other) if isinstance(one, ast.Constant)}


def test_no_module_asks_for_the_kind_of_an_experiment() -> None:
    found = Counter(
        within(path) for path in modules("hdbkit") if not path.is_relative_to(OWN) for _ in branches(parsed(path))
    )
    assert {name: count for name, count in found.items() if count > LIMITS.get(name, 0)} == {}


def test_a_branch_on_a_kind_is_seen() -> None:
    text = """
def shown(plan, result):
    if isinstance(plan, (SweepPlan, RunPlan)) or type(plan) is MaxRatePlan or plan.kind in ("releases", "other"):
        return {ProfilePlan: 1}[type(plan)]
    match result:
        case api.SweepResult():
            return folder.read_plan(SweepPlan)
    return SweepPlan(runs=()), target.kind == "sqlite"
"""
    assert len(list(branches(ast.parse(text)))) == 5


def test_the_rule_knows_each_kind() -> None:
    assert {"SweepPlan", "SlowCommitPlan"} <= PLANS
    assert Path(OWN / "slow_commit.py").is_file()
