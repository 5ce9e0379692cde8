"""Random secrets and their hashes."""

import base64
import hashlib

import hypothesis.strategies as st
from hypothesis import given

from domogate.common.secrets import digest_secret, hash_secret, new_secret


def test_a_new_secret_has_256_bits_and_is_never_the_same() -> None:
    made = {new_secret() for _ in range(100)}
    assert len(made) == 100
    assert {len(base64.urlsafe_b64decode(secret + "=")) for secret in made} == {32}


def test_a_secret_is_stored_as_its_sha_256() -> None:
    assert hash_secret("s3cret") == hashlib.sha256(b"s3cret").hexdigest()


@given(st.text())
def test_the_cache_key_is_the_same_hash(secret: str) -> None:
    assert digest_secret(secret.encode()).hex() == hash_secret(secret)


def test_text_that_is_not_unicode_has_a_hash_too() -> None:
    assert hash_secret("\udcff") != hash_secret("x")
