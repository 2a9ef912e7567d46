"""Importers: a document comes in, a draft manifest goes out; they never fetch and never grant."""
