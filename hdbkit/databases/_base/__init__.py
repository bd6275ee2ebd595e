"""The base of all engines: defaults of the contract, sessions over DB-API drivers, SQL schemas, locks, passwords.

Nothing here imports a driver, or decides by an engine's name.
"""
