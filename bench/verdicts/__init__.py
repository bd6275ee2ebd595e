"""Error rates of hdbkit's statements, by simulation: ``python -m bench.verdicts [PART ...]``.

Without a part, it prints the table of every statement under each of the noises (``noise.NOISES``); ``table FILE``
keeps its rows in a file and goes on with those that it lacks; ``table FILE WORDS ...`` prints the statements that
contain one of the words. Parts are sweeps, dropping, slices, scaling, series and
comparisons. ``python -m bench.verdicts.real FILE`` measures real experiments on equal sides.
``python -m bench.verdicts record`` records the noise between runs anew: runs of one configuration, one after the
other, on a private server; kept is each run's log throughput less the median (``data/run_noise.csv``).
"""
