"""Takes recorded decisions again from what was recorded; nothing outside is touched (E4)."""
