"""What the roles may do in the log: read it."""

PERMISSIONS = {
    "platform_admin": ("audit.view_auditevent",),
    "manifest_reviewer": ("audit.view_auditevent",),
    "auditor": ("audit.view_auditevent",),
    "operator": ("audit.view_auditevent",),
}
