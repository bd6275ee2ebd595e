"""A frame becomes a figure. Each chart answers one question, which is its title."""
