"""Profiles: one target at several numbers of virtual users."""

from __future__ import annotations

from typing import Literal

from hdbkit.experiment.kind import Kind
from hdbkit.experiment.plan import Design
from hdbkit.experiment.sides import SidesPlan
from hdbkit.results.catalog import profile_tag


class ProfilePlan(SidesPlan):
    """The plan of runs of a profile."""

    kind: Literal["profile"] = "profile"
    name: str

    @property
    def title(self) -> str:
        return f"the profile '{self.name}'"

    @property
    def design(self) -> Design:
        """Each number of virtual users is compared with the first."""
        return Design(len(self.virtual_users) - 1, 1, (self.blocks,))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tag by which the profile finds its runs."""
        return (profile_tag(self.name),)


KIND = Kind(ProfilePlan)
