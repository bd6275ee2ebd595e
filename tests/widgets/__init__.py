"""Panels driven from Python: their values are set, their buttons clicked; the browser is in tests/browser."""
