"""What the roles may do in the log: read it; platform admins say who audits and what may go."""

from __future__ import annotations

# Erase values, place holds, change retention.
ERASERS = frozenset({"platform_admin"})
# See the salt of a commitment: whoever may read the value may also show that it is the value.
SALT_READERS = frozenset({"platform_admin", "auditor"})

_READ = ("audit.view_auditevent", "audit.view_decisionrow")
_EXPORTS = (
    *("audit.view_exportjob", "audit.add_exportjob", "audit.change_exportjob"),
    *("audit.view_reportdefinition", "audit.add_reportdefinition"),
    "audit.change_reportdefinition",
)
_CHECKS = ("audit.view_logcheck", "audit.add_logcheck")
_SEES_ACCESS = ("audit.view_auditoraccess",)
_SEES_KEEPING = (
    "audit.view_erasure",
    "audit.view_legalhold",
    "audit.view_retentionrule",
    "audit.view_purge",
)
_KEEPS = (
    *_SEES_KEEPING,
    "audit.add_erasure",
    "audit.add_legalhold",
    "audit.release_legalhold",
    "audit.change_retentionrule",
)

PERMISSIONS = {
    "platform_admin": (
        *_READ,
        *_EXPORTS,
        *_SEES_ACCESS,
        *_CHECKS,
        "audit.add_auditoraccess",
        "audit.change_auditoraccess",
        *_KEEPS,
    ),
    "manifest_reviewer": ("audit.view_auditevent",),
    "auditor": (*_READ, *_EXPORTS, *_SEES_ACCESS, *_SEES_KEEPING, "audit.view_logcheck"),
    "operator": (*_READ, *_EXPORTS, *_SEES_KEEPING, *_CHECKS),
}
