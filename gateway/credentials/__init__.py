"""Credentials of adapters: chosen, opened, exchanged and shown just before a call leaves (C7)."""
