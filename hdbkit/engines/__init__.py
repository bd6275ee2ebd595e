"""Engines as such: what one lacks, what its server answers, whether it keeps the rules, and a new one."""
