"""A run from plan to folder: supervisor, client processes, the measured loop, spools.

``start`` gives a plan to a supervisor, a process of its own session; whoever holds the handle only watches a
folder, so a restarted kernel or a closed terminal loses nothing.
"""
