"""Plans written from the contract alone, verdict first; another shop than that of the tables."""
