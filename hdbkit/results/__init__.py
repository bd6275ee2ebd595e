"""The results of a run: a self-contained folder in a public, versioned format."""
