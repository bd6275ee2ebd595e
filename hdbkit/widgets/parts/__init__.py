"""What panels are made of: the base of every panel, form fields, tables, live charts, and their background work."""
