"""The writers by format; a further one is a file beside the others and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from audit.export.base import Writer
from audit.export.bundle import BundleWriter
from audit.export.csv_table import CsvWriter
from audit.export.jsonl import JsonLinesWriter
from audit.export.pdf import PdfWriter
from audit.export.states import ExportFormat
from audit.export.xlsx import XlsxWriter

WRITERS: Mapping[str, type[Writer]] = {
    ExportFormat.BUNDLE: BundleWriter,
    ExportFormat.CSV: CsvWriter,
    ExportFormat.JSONL: JsonLinesWriter,
    ExportFormat.PDF: PdfWriter,
    ExportFormat.XLSX: XlsxWriter,
}
