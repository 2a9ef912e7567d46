"""Pages of the log: to be read; what may go is let go of on pages of its own."""

from audit.admin import accesses, erasures, events, exports, holds, records, report_definitions

__all__ = ["accesses", "erasures", "events", "exports", "holds", "records", "report_definitions"]
