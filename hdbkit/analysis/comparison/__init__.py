"""Runs that were not randomized together: two sides, groups, the history of a profile, published figures."""
