"""Tables of the registry. The manifest is the artefact; these rows are its index."""

from registry.models.adapters import Adapter, AdapterVersion, Finding, Review, Signature
from registry.models.contents import Capability, Prompt, Resource, Scope
from registry.models.generation import RegistryGeneration
from registry.models.icons import Icon
from registry.models.kill_switches import KillSwitch
from registry.models.packs import ContextPackVersion, PackReview
from registry.models.policies import PolicyBundleVersion, PolicyReview
from registry.models.quarantines import Quarantine
from registry.models.schemas import SchemaDocument, SchemaUse

__all__ = [
    "Adapter",
    "AdapterVersion",
    "Capability",
    "ContextPackVersion",
    "Finding",
    "Icon",
    "KillSwitch",
    "PackReview",
    "PolicyBundleVersion",
    "PolicyReview",
    "Prompt",
    "Quarantine",
    "RegistryGeneration",
    "Resource",
    "Review",
    "SchemaDocument",
    "SchemaUse",
    "Scope",
    "Signature",
]
