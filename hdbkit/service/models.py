"""The answers of the service beside the documents of its verbs; the client reads them as these values."""

from __future__ import annotations

from pydantic import BaseModel, Field

from hdbkit.api.documents import ExperimentDocument
from hdbkit.service.job_folder import Job


class ProblemAnswer(BaseModel):
    """One error of a request."""

    where: str = Field(description="the key", examples=["load.virtual_users"])
    what: str = Field(description="what was expected, and what was given", examples=["must be 1 or more, not 0"])


class ErrorAnswer(BaseModel):
    """Why a request was not accepted; nothing was started."""

    error: str = Field(examples=["load.virtual_users: must be 1 or more, not 0"])
    problems: list[ProblemAnswer] = Field(default=[], description="all errors of the request")


class JobList(BaseModel):
    """Jobs, newest first."""

    jobs: list[Job]
    total: int = Field(description="the number of jobs that were found, listed or not")


class ExperimentList(BaseModel):
    """Experiments, newest first."""

    experiments: list[ExperimentDocument]
    total: int = Field(description="the number of experiments, listed or not")


class TargetAnswer(BaseModel):
    """A target of the workspace."""

    name: str
    url: str = Field(description="the address, without a password; empty if its entry has errors")
    may_change_settings: bool
    error: str = Field(default="", description="what is wrong with its entry")


class TargetList(BaseModel):
    """The targets of the workspace."""

    targets: list[TargetAnswer]
