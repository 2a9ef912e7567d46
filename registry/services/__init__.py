"""The registry's mutations, one module per subject."""
