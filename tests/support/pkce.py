"""Proof Key for Code Exchange, on the side of the application (RFC 7636 §4.2)."""

import base64
import hashlib


def challenge_of(verifier: str) -> str:
    """S256."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
