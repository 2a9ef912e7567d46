"""Gateway acts: every effect on the outside."""
