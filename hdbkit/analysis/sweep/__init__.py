"""The runs of a sweep: verdicts, effects, interactions, the search for the fastest, and warnings."""
