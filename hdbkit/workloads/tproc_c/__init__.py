"""TPROC-C, the OLTP workload derived from TPC-C."""
