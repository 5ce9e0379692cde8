"""HTTP clients of a test process share one TLS context: reading the certificates of the system takes 0.05 s for each client."""

import os
import ssl
from functools import cache
from typing import Any

import pytest
from httpx import create_ssl_context
from httpx._transports import default


def share_tls_context() -> pytest.MonkeyPatch:
    """From now on, clients that trust the certificates of the system get the same context. `undo` ends this."""
    patch = pytest.MonkeyPatch()
    patch.setattr(default, "create_ssl_context", _find_context)
    return patch


def _find_context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    if verify is not True or cert is not None:
        return create_ssl_context(verify, cert, trust_env)
    named = tuple(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return _trust_system(named if trust_env else None)


@cache
def _trust_system(named: tuple[str | None, ...] | None) -> ssl.SSLContext:
    """`named` has the values of the environment variables that httpx reads, or is None if it must not read them."""
    return create_ssl_context(trust_env=named is not None)
