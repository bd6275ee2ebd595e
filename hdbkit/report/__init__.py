"""Self-contained HTML pages for runs, sweeps, comparisons, profiles and searches, and cards for a notebook."""
