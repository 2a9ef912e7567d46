"""What travels inside a bundle: plain Python that needs nothing installed; also used here."""
