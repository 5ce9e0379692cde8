"""Base64 for URLs: each data has exactly one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.util import urlsafe_b64decode, urlsafe_b64encode

from domogate.common.base64url import decode_base64url, encode_base64url

TEXTS = st.text("AQgw-_+/=\n .\xe9xyz09", max_size=12).map(lambda text: text.encode("latin-1")) | st.binary(max_size=8)


@given(st.binary(max_size=100))
def test_the_text_of_data_is_that_of_another_library(data: bytes) -> None:
    assert encode_base64url(data) == urlsafe_b64encode(data)
    assert decode_base64url(encode_base64url(data)) == data


@given(TEXTS)
def test_a_text_is_refused_or_is_the_only_text_of_its_data(text: bytes) -> None:
    try:
        expected = urlsafe_b64decode(text)
    except ValueError:
        with pytest.raises(ValueError, match=r".*"):
            decode_base64url(text)
    else:
        assert decode_base64url(text) == expected
        assert encode_base64url(expected) == text


@pytest.mark.parametrize("text", [b"AB", b"AAB", b"AA==", b"A", b"A+/A", b"AA\nA", b"AAAA ", b"\xe9AAA", b"AAAAA"])
def test_other_spellings_are_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        decode_base64url(text)
