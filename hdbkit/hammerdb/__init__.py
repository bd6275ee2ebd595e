"""Settings of HammerDB's scripts and XML files, translated into files of hdbkit, and its stored jobs.

Nothing in them is executed.
"""

from hdbkit.hammerdb.jobs import HammerJob, HammerJobs, is_job_file, read_jobs, read_log
from hdbkit.hammerdb.reading import ReadCommand, is_settings_file, read_settings
from hdbkit.hammerdb.reports import is_report, read_report
from hdbkit.hammerdb.translating import Translation, translate, translation

__all__ = [
    "HammerJob",
    "HammerJobs",
    "ReadCommand",
    "Translation",
    "is_job_file",
    "is_report",
    "is_settings_file",
    "read_jobs",
    "read_log",
    "read_report",
    "read_settings",
    "translate",
    "translation",
]
