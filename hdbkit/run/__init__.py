"""A run from plan to folder: supervisor, client processes, the measured loop, spools."""
