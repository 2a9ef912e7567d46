"""Filters of the registry's pages."""
