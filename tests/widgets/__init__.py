"""Panels operated from Python: values are set, buttons clicked; the browser tests are in tests/browser."""
