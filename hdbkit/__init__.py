"""hdbkit."""
