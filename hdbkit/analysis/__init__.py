"""From run folders to figures: windows, quantiles, checks, verdicts. No driver, no server."""
