"""Settings of HammerDB's scripts and XML files, translated into files of hdbkit. Nothing in them is executed."""

from hdbkit.hammerdb.reading import Given, read_settings
from hdbkit.hammerdb.translating import Translation, translate

__all__ = ["Given", "Translation", "read_settings", "translate"]
