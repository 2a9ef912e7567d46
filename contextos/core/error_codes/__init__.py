"""The error codes that belong to no single app, declared as data."""

from contextos.core.error_codes.governance import CAPACITY_CODES, GOVERNANCE_CODES
from contextos.core.error_codes.identity import AUTH_CODES
from contextos.core.error_codes.machinery import CRYPTO_CODES, EGRESS_CODES
from contextos.core.error_codes.requests import JSON_CODES, REQUEST_CODES, VALUE_CODES

CORE_CODES = (
    *JSON_CODES,
    *VALUE_CODES,
    *REQUEST_CODES,
    *AUTH_CODES,
    *GOVERNANCE_CODES,
    *CAPACITY_CODES,
    *EGRESS_CODES,
    *CRYPTO_CODES,
)
