"""Documents in, drafts out."""
