"""Application entry: the registry answers what may exist."""

from django.apps import AppConfig


class RegistryConfig(AppConfig):
    """Adapters, their reviewed manifests, and later packs, policies and skills."""

    name = "registry"
    verbose_name = "Registry"

    def ready(self) -> None:
        """Declare the registry's error codes."""
        from registry import error_codes  # noqa: F401
