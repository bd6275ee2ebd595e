"""From a run folder to numbers that can be doubted: windows, quantiles, checks, verdicts. No driver, no server."""
