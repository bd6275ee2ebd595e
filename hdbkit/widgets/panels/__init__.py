"""The panels: one module each, displayed by a function of the package's name."""
