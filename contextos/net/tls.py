"""TLS contexts: one shared by the process, and client-certificate ones that still verify."""

import ssl
from functools import lru_cache
from pathlib import Path

import certifi

from contextos.net.failures import failure


@lru_cache(maxsize=1)
def shared_tls_context() -> ssl.SSLContext:
    """The context for ordinary hosts. Building one costs tens of milliseconds: never per call."""
    return build_tls_context()


def build_tls_context(
    *,
    ca_file: Path | None = None,
    ca_data: str | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
    key_password: str | None = None,
) -> ssl.SSLContext:
    """A verifying context; with own authorities it trusts these alone, with a certificate mTLS."""
    try:
        if ca_file is None and ca_data is None:
            context = ssl.create_default_context(cafile=certifi.where())
        else:
            context = ssl.create_default_context(cafile=ca_file, cadata=ca_data)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if certificate is not None:
            context.load_cert_chain(certificate, key, key_password)
    except (OSError, ValueError):
        message = "The certificate, key or authority for this connection can't be read."
        raise failure("egress.tls", message) from None
    return context


def require_verification(context: ssl.SSLContext) -> None:
    """No caller may bring a context that believes anyone."""
    if context.verify_mode is not ssl.CERT_REQUIRED or not context.check_hostname:
        message = "The TLS context does not verify the host's certificate and name."
        raise failure("egress.tls", message)
