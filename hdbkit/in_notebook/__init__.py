"""What a notebook shows while its kernel lives, and keeps without it: places for panels and charts."""
