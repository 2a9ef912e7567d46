"""The twelve-step form of a manifest: the same document as the JSON view, field by field."""

from registry.admin.draft_form.binding import BoundForm, bind, windows
from registry.admin.draft_form.posting import Posted, apply_fields, with_change
from registry.admin.draft_form.steps import STEPS

__all__ = ["STEPS", "BoundForm", "Posted", "apply_fields", "bind", "windows", "with_change"]
