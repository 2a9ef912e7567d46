"""Checking the log against itself, its signatures, and what is kept outside the database (E2)."""
