"""TLS contexts made from PEM texts: built once each, and no key is left on a disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from contextos.net import build_tls_context
from gateway.connectors.base import Credential

MOST_CONTEXTS = 256


def tls_context_of(credential: Credential | None) -> Any:
    """For a connector: the context of this credential, or None where the usual one will do.

    The same object for the same certificate, since connections are shared per context.
    """
    if credential is None or credential.client_certificate is None:
        return (
            authority_context(credential.authority) if credential and credential.authority else None
        )
    chain, key = credential.client_certificate
    return _client_context(chain, key, credential.authority)


@lru_cache(maxsize=MOST_CONTEXTS)
def authority_context(authority: str) -> Any:
    """Believes certificates of a private authority, and no others."""
    return build_tls_context(ca_data=authority)


@lru_cache(maxsize=MOST_CONTEXTS)
def _client_context(chain: str, key: str, authority: str | None) -> Any:
    with ExitStack() as files:
        certificate, private = (files.enter_context(_as_file(pem)) for pem in (chain, key))
        return build_tls_context(ca_data=authority or None, certificate=certificate, key=private)


@contextmanager
def _as_file(pem: str) -> Iterator[Path]:
    """OpenSSL reads certificates from files only: one in memory, where the system has such."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("contextos-certificate")
        try:
            os.write(descriptor, pem.encode())
            yield Path(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:  # mode 0600
            file.write(pem.encode())
            file.flush()
            yield Path(file.name)
