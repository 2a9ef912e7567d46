"""The way to a tenant's first governed call: how far it is, drafts for it, and making the call."""
