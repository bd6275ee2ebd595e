"""One HTML page that opens offline."""
