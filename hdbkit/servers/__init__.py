"""Servers as things with settings: started by hdbkit, or reached through SQL alone."""
