"""Engines as such: what one lacks of the declared operations, whether it keeps a workload's rules, and a new one."""

from hdbkit.engines.asking import Gap, ask_server, asked, lacking, provided
from hdbkit.engines.new import write_skeleton
from hdbkit.engines.trying import Tried, try_rules

__all__ = ["Gap", "Tried", "ask_server", "asked", "lacking", "provided", "try_rules", "write_skeleton"]
