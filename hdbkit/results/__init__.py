"""What a run leaves: a folder that is complete by itself. The format is public and versioned."""
