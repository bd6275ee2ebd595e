"""Error rates of hdbkit's statements, by simulation: ``python -m bench.verdicts [PART ...]``.

Without a part, it prints the table of every statement under each of the noises (``noise.NOISES``). Parts are sweeps,
dropping, slices, scaling, series and comparisons.
``python -m bench.verdicts record`` records the noise between runs anew: runs of one configuration, one after the
other, on a private server; kept is each run's log throughput less the median (``data/run_noise.csv``).
"""
