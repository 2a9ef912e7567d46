"""Checkpoints outside the database, so that history can't be rewritten together with its proof."""
