"""Approvals waits for people: gates, requests, votes."""
