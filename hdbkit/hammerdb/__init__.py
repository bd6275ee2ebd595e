"""Settings of HammerDB's scripts and XML files, translated into files of hdbkit, and its stored jobs.

Nothing in them is executed.
"""

from hdbkit.hammerdb.jobs import Job, Jobs, is_job_file, read_jobs, read_log
from hdbkit.hammerdb.reading import Given, is_settings_file, read_settings
from hdbkit.hammerdb.reports import is_report, read_report
from hdbkit.hammerdb.translating import Translation, table, translate

__all__ = [
    "Given",
    "Job",
    "Jobs",
    "Translation",
    "is_job_file",
    "is_report",
    "is_settings_file",
    "read_jobs",
    "read_log",
    "read_report",
    "read_settings",
    "table",
    "translate",
]
