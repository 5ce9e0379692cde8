"""Hashes and MACs of codes, refresh tokens and client secrets."""

import base64
import hashlib
import re
import string
from typing import Any
from unittest.mock import AsyncMock

import hypothesis.strategies as st
from hypothesis import given, settings

from domogate.common.secrets import hash_secret
from domogate.services.authorization.secrets import (
    TextMac,
    derive_successor,
    half_hash,
    is_challenge,
    is_verifier,
    matches,
    verifies,
)
from support.examples import examples

UNRESERVED = string.ascii_letters + string.digits + "-._~"
verifiers = st.text(st.sampled_from(UNRESERVED), min_size=43, max_size=128)


def challenge(verifier: str) -> str:
    """RFC 7636 §4.2."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode("ascii")).digest()).decode().replace("=", "")


class TestPkce:
    def test_the_example_of_the_standard(self) -> None:
        """RFC 7636 appendix B."""
        verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        assert verifies(verifier, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")

    @given(verifiers)
    def test_every_verifier_fits_its_challenge(self, verifier: str) -> None:
        assert is_verifier(verifier)
        assert is_challenge(challenge(verifier))
        assert verifies(verifier, challenge(verifier))

    @given(verifiers, verifiers)
    def test_and_no_other(self, verifier: str, other: str) -> None:
        assert verifies(other, challenge(verifier)) is (other == verifier)

    @given(verifiers)
    def test_a_challenge_is_not_its_own_verifier(self, verifier: str) -> None:
        """The method `plain` in disguise: the challenge is the verifier."""
        assert not verifies(challenge(verifier), challenge(verifier))

    @given(st.text(max_size=140))
    def test_text_of_any_kind_never_fails(self, text: str) -> None:
        assert is_verifier(text) is bool(re.fullmatch(r"[A-Za-z0-9\-._~]{43,128}", text, re.ASCII) and "\n" not in text)
        assert verifies(text, challenge("x" * 43)) is (text == "x" * 43)

    @given(st.text(max_size=50))
    def test_a_challenge_is_43_characters_of_base64url(self, text: str) -> None:
        assert is_challenge(text) is (len(text) == 43 and set(text) <= set(string.ascii_letters + string.digits + "-_"))


class TestSecrets:
    @given(st.text())
    def test_a_secret_matches_its_own_hash_only(self, secret: str) -> None:
        assert matches(secret, hash_secret(secret))
        assert not matches(secret + "x", hash_secret(secret))
        assert not matches(secret, None)

    def test_a_lone_surrogate_matches_nothing(self) -> None:
        assert not matches("\udcff", hash_secret("x"))


class TestSuccessors:
    @given(st.text(min_size=1), st.binary(min_size=32, max_size=64))
    def test_the_same_token_has_the_same_successor(self, token: str, secret: bytes) -> None:
        assert derive_successor(token, secret) == derive_successor(token, secret)
        assert re.fullmatch(r"[A-Za-z0-9_-]{43}", derive_successor(token, secret))

    @given(st.text(min_size=1), st.text(min_size=1), st.binary(min_size=32), st.binary(min_size=32))
    def test_another_token_or_secret_has_another(self, one: str, other: str, secret: bytes, another: bytes) -> None:
        assert (derive_successor(one, secret) == derive_successor(other, secret)) is (one == other)
        # HMAC pads a key with zeros, so trailing zeros make no difference.
        same = secret.rstrip(b"\0") == another.rstrip(b"\0")
        if len(secret) <= 64 and len(another) <= 64:
            assert (derive_successor(one, secret) == derive_successor(one, another)) is same


class TestTextMac:
    @settings(max_examples=examples(30))
    @given(st.text(), st.text())
    async def test_holds_for_its_own_text_only(self, text: str, other: str) -> None:
        def new_mac(secret: bytes, purpose: str) -> TextMac:
            signer: Any = AsyncMock(find_server_secret=AsyncMock(return_value=secret))  # the part that it uses
            return TextMac(signer, purpose)

        mac = new_mac(b"s" * 32, "a purpose")
        signed = await mac.sign(text)
        assert await mac.verify(text, signed)
        assert await mac.verify(other, signed) is (other == text)
        assert not await new_mac(b"s" * 32, "another purpose").verify(text, signed)
        assert not await new_mac(b"t" * 32, "a purpose").verify(text, signed)
        assert not await mac.verify(text, other)


def test_at_hash_is_the_left_half() -> None:
    """OpenID Connect Core §3.1.3.6, its example in appendix A.3."""
    token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
    assert half_hash(token) == "77QmUPtjPfzWtF2AnpK9RQ"
