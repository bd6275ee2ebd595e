"""Engines as such: what one lacks of the declared contract, whether it does what every engine must, and a new one."""

from hdbkit.engines.gaps import Gap, lacking, provided

__all__ = ["Gap", "lacking", "provided"]
