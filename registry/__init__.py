"""Registry answers: manifests, capabilities, packs, policies."""
