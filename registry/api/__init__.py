"""REST of the registry: adapters, their versions and lifecycle, the catalogue, kill switches."""
