"""Load generation and data loading on many hosts: dask.distributed carries tasks, files and deployments.

hdbkit adds what a benchmark needs: a common start, one clock, complete accounting. Imported only when used.
"""
