"""Engines as such: what one lacks of the declared operations, and whether it keeps the rules of a workload."""

from hdbkit.engines.gaps import Gap, asked, lacking, provided
from hdbkit.engines.trying import Tried, try_rules

__all__ = ["Gap", "Tried", "asked", "lacking", "provided", "try_rules"]
