"""Two JSON Schemas compared: does the new one accept anything that the old one refused?"""

# Importing a module enters its rules.
from registry.risk_diff.schema import (
    annotations,
    arrays,
    bounds,
    composition,
    objects,
    references,
    scalars,
)
from registry.risk_diff.schema.documents import Library, compare_documents
from registry.risk_diff.schema.node import Role

__all__ = [
    "Library",
    "Role",
    "annotations",
    "arrays",
    "bounds",
    "compare_documents",
    "composition",
    "objects",
    "references",
    "scalars",
]
