"""Consents of people: calls that wait for one, the trip to the far side, what it brought (C7)."""
