"""Filters of review pages."""
