"""Replay of recorded decisions."""
