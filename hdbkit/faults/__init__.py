"""Faults that a run causes: what they do (``actions``), the proxy of network faults, and the process that does it.

A fault belongs to a process of its own (``injector``), so that it is undone when the supervisor is killed: a stopped
server is started, a frozen one continues.
"""
