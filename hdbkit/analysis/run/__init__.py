"""One run: windows, quantiles, counters, checks and the summary that its manifest keeps."""
