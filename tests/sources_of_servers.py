"""A git checkout that looks like the source of a server: it is configured, made and installed in a second."""

from __future__ import annotations

import subprocess
from pathlib import Path

CONFIGURE = """#!/bin/sh
for word; do
  case $word in
    --prefix=*) prefix=${word#--prefix=} ;;
    --without-luck)
      echo "checking for luck... no"
      echo "configure: error: there is no luck"
      echo "see the manual"
      exit 1 ;;
  esac
done
printf 'all:\\n\\t@echo made\\ninstall:\\n\\t@mkdir -p %s\\n\\t@sh ./install.sh %s\\n' "$prefix" "$prefix" > Makefile
"""
LINKED = 'ln -s "{programs}" "$1/bin"\n'
"""The install script of a server that is installed elsewhere."""


class Checkout:
    """A repository, whose commits install what a script says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q")
        (folder / "configure").write_text(CONFIGURE)
        (folder / "configure").chmod(0o755)

    def commit(self, script: str, tag: str) -> str:
        """Commit an install script, which gets the prefix; its digits."""
        (self.folder / "install.sh").write_text(script)
        self.git("add", ".")
        self.git(
            "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", f"Subject of {tag}"
        )
        self.git("tag", tag)
        return self.git("rev-parse", "HEAD")

    def git(self, *words: str) -> str:
        """What git answers."""
        command = ["git", "-C", str(self.folder), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
