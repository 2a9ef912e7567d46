"""Exports for auditors: jobs with a lease, a writer per format, files that are whole or absent."""
