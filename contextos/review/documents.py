"""Drafts of packs, policies and gates: settled, examined, and kept by their digest."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import IntegrityError, transaction

from audit.artefacts import read_artefact, store_artefact
from audit.services import record_event
from contextos.core.canonical import canonicalise
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority
from contextos.identity.models import User
from contextos.review.document_versions import DocumentVersion
from contextos.review.findings import Finding, Severity
from contextos.review.kinds import Obstacle, Tick
from contextos.review.semver import next_version, require_semver
from contextos.review.signed_documents import decoded

D = TypeVar("D", bound=DocumentVersion)
Document = dict[str, Any]

# One path segment of the API's addresses, and nothing that a page or a log could misread.
_DOCUMENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True)
class DocumentKind(Generic[D]):
    """What one kind of document brings to drafting."""

    name: str  # prefix of the audit actions and subject kind of the events
    model: type[D]
    id_prefix: str  # of version ids
    settle: Callable[[str, Document], Document]  # as it is to be stored
    columns: Callable[[Document], dict[str, Any]]  # what rows are found and listed by
    examine: Callable[[str, Document], tuple[Finding, ...]]

    @property
    def id_member(self) -> str:
        """The member that names the document; the column has the same name."""
        return self.model.id_column


# --- mutations -----------------------------------------------------------------------------------
@transaction.atomic
def create_draft(
    kind: DocumentKind[D],
    *,
    tenant_id: str,
    document: Mapping[str, Any],
    author: User,
    actor: Actor,
    document_id: str | None = None,
) -> D:
    """A new draft version; its number is assigned where the document names none."""
    require_authority(actor, tenant_id)
    named = _require_id(kind, document)
    if document_id is not None and named != document_id:
        raise coded_error("document.id_mismatch", data={"expected": document_id[:200]})
    number = _settled_number(kind, tenant_id, named, document.get("version"))
    version = kind.model(
        version_id=new_id(kind.id_prefix),
        tenant_id=tenant_id,
        version=number,
        author=author,
        editors=[author.user_id],
    )
    _fill(kind, version, {**document, "version": number})
    _insert(version)
    _record(kind, version, "drafted", actor)
    return version


@transaction.atomic
def replace_draft(
    kind: DocumentKind[D],
    *,
    version_id: str,
    document: Mapping[str, Any],
    editor: User,
    actor: Actor,
    expected_digest: str | None = None,
) -> D:
    """Write on a draft; everybody who did is kept from approving it.

    `expected_digest` is what the editor had in front of them: somebody else's edit since then is
    not overwritten.
    """
    version = _locked_draft(kind, version_id, actor, expected_digest)
    _fill(kind, version, _replacement(kind, version, document))
    version.editors = sorted({*version.editors, editor.user_id})
    version.save()
    _record(kind, version, "edited", actor)
    return version


# --- answers to the review machinery -------------------------------------------------------------
def stored_bytes(version: DocumentVersion) -> bytes:
    """What publication signs."""
    return read_artefact(tenant_id=version.tenant_id, digest=version.digest)


def stored_document(version: DocumentVersion) -> Document:
    """The document of a version that is not signed yet."""
    return decoded(stored_bytes(version))


def obstacles_of(kind: DocumentKind[D], version: D) -> tuple[Obstacle, ...]:
    """Examined again: the rules or the registry may have changed since the draft was saved."""
    found = kind.examine(version.tenant_id, stored_document(version))
    return tuple(
        Obstacle(id=tick_id(item), message=item.message)
        for item in found
        if item.severity is Severity.BLOCK
    )


def warnings_of(version: DocumentVersion) -> tuple[Tick, ...]:
    """What was found at submission and has to be accepted."""
    warned = (item for item in version.findings if item["severity"] == Severity.WARN.value)
    return tuple(Tick(id=item["id"], rule=item["rule"]) for item in warned)


def findings_columns(found: tuple[Finding, ...]) -> dict[str, Any]:
    """The findings as a version keeps them."""
    severities = [item.severity for item in found]
    return {
        "findings": [{"id": tick_id(item), **item.as_dict()} for item in found],
        "block_count": severities.count(Severity.BLOCK),
        "warn_count": severities.count(Severity.WARN),
    }


def tick_id(finding: Finding) -> str:
    """What a reviewer accepts: this rule at this place."""
    return f"{finding.rule}@{finding.pointer}"


def describe(version: DocumentVersion) -> dict[str, Any]:
    """Names for the audit event."""
    return {version.id_column: version.document_id, "version": version.version}


# --- parts ---------------------------------------------------------------------------------------
def _require_id(kind: DocumentKind[D], document: Mapping[str, Any]) -> str:
    named = document.get(kind.id_member)
    if not isinstance(named, str) or not _DOCUMENT_ID.fullmatch(named):
        raise coded_error(
            "document.id_malformed",
            message=f"{kind.id_member} is missing or can't be used as a name.",
            data={"pointer": f"/{kind.id_member}"},
        )
    return named


def _settled_number(kind: DocumentKind[D], tenant_id: str, named: str, declared: Any) -> str:
    if declared is not None:
        return require_semver(declared)
    rows = kind.model._default_manager.filter(tenant_id=tenant_id, **{kind.id_member: named})
    return next_version(rows.values_list("version", flat=True))


def _locked_draft(
    kind: DocumentKind[D], version_id: str, actor: Actor, expected_digest: str | None
) -> D:
    rows = kind.model._default_manager.select_for_update(of=("self",))
    version: D | None = rows.filter(pk=version_id).first()
    if version is None:
        raise coded_error("request.not_found")
    require_authority(actor, version.tenant_id)
    if not version.is_editable:
        raise coded_error("document.not_a_draft", data={"state": version.state})
    if expected_digest is not None and expected_digest != version.digest:
        raise coded_error("document.changed_meanwhile", data={"current": version.digest})
    return version


def _replacement(kind: DocumentKind[D], version: D, document: Mapping[str, Any]) -> Document:
    if _require_id(kind, document) != version.document_id:
        raise coded_error("document.id_mismatch", data={"expected": version.document_id})
    declared = document.get("version")
    if declared is not None and declared != version.version:
        raise coded_error("document.version_mismatch", data={"version": version.version})
    return {**document, "version": version.version}


def _fill(kind: DocumentKind[D], version: D, document: Document) -> None:
    settled = kind.settle(version.tenant_id, document)
    version.digest = store_artefact(
        tenant_id=version.tenant_id, media_type=version.payload_type, content=canonicalise(settled)
    )
    columns = {
        kind.id_member: settled[kind.id_member],
        "owner_role": text_member(settled, "owner_role")[:200],
        **kind.columns(settled),
        **findings_columns(kind.examine(version.tenant_id, settled)),
    }
    for name, value in columns.items():
        setattr(version, name, value)


def text_member(document: Mapping[str, Any], name: str) -> str:
    """A member that is a text; a draft may hold anything."""
    value = document.get(name)
    return value if isinstance(value, str) else ""


def _insert(version: DocumentVersion) -> None:
    try:
        with transaction.atomic():
            version.save(force_insert=True)
    except IntegrityError as clash:
        raise coded_error("document.version_taken", data=describe(version)) from clash


def _record(kind: DocumentKind[D], version: D, word: str, actor: Actor) -> None:
    record_event(
        tenant_id=version.tenant_id,
        action=f"{kind.name}.{word}",
        actor=actor,
        subject_kind=kind.name,
        subject_id=version.version_id,
        data={**describe(version), "digest": version.digest},
    )
