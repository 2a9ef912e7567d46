"""Who may do what in the registry: roles for the API, their permissions for the admin pages."""

from __future__ import annotations

AUTHORS = frozenset({"platform_admin", "manifest_author"})
REVIEWERS = frozenset({"platform_admin", "manifest_reviewer"})
PUBLISHERS = frozenset({"platform_admin"})
SWITCHERS = frozenset({"platform_admin", "operator"})
READERS = AUTHORS | REVIEWERS | SWITCHERS | {"auditor"}

_READ = tuple(
    f"registry.view_{model}"
    for model in (
        "adapter",
        "adapterversion",
        "capability",
        "contextpackversion",
        "finding",
        "killswitch",
        "packreview",
        "policybundleversion",
        "policyreview",
        "prompt",
        "quarantine",
        "resource",
        "review",
        "schemadocument",
        "schemause",
        "scope",
        "signature",
    )
)
_REVIEWED = ("adapterversion", "contextpackversion", "policybundleversion")


def _on_reviewed(*verbs: str) -> tuple[str, ...]:
    return tuple(f"registry.{verb}_{model}" for model in _REVIEWED for verb in verbs)


_WRITE = ("registry.add_adapter", *_on_reviewed("add", "change", "submit"))
_REVIEW = _on_reviewed("review")
_PUBLISH = _on_reviewed("publish", "retire")
_SWITCH = ("registry.add_killswitch", "registry.lift_killswitch")

PERMISSIONS: dict[str, tuple[str, ...]] = {
    "platform_admin": (*_READ, *_WRITE, *_REVIEW, *_PUBLISH, *_SWITCH),
    "manifest_author": (*_READ, *_WRITE),
    "manifest_reviewer": (*_READ, *_REVIEW),
    "auditor": _READ,
    "operator": (*_READ, *_SWITCH),
}
