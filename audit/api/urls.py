"""Addresses of the log's REST, below /api/v1/."""

from django.urls import path

from audit.api import exports, log_views, records

_EXPORT = "exports/<str:export_id>"
_RECORD = "decision-records/<str:decision_id>"

urlpatterns = [
    path("decision-records", records.RecordListView.as_view(), name="decision-records"),
    path(_RECORD, records.RecordView.as_view(), name="decision-record"),
    path(f"{_RECORD}/proof", log_views.ProofView.as_view(), name="decision-record-proof"),
    path("log/checkpoint", log_views.CheckpointView.as_view(), name="log-checkpoint"),
    path("log/inclusion", log_views.InclusionView.as_view(), name="log-inclusion"),
    path("log/consistency", log_views.ConsistencyView.as_view(), name="log-consistency"),
    path("log/keys", log_views.KeysView.as_view(), name="log-keys"),
    path("exports", exports.ExportListView.as_view(), name="exports"),
    path(_EXPORT, exports.ExportView.as_view(), name="export"),
    path(f"{_EXPORT}/cancel", exports.ExportCancelView.as_view(), name="export-cancel"),
    path(f"{_EXPORT}/download", exports.ExportDownloadView.as_view(), name="export-download"),
]
