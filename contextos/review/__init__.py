"""Draft, review, sign: one machinery for manifests, packs, policies and gates."""
