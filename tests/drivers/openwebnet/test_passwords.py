"""The three proofs of the password. That OWNd computes the same is shown in test_independent_client.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.drivers.openwebnet.passwords import Algorithm, answer_open, from_digits, is_same, to_digits


class TestOpenPassword:
    @pytest.mark.parametrize(
        ("nonce", "answer"),
        [
            ("603356072", "25280520"),
            ("410501656", "119537670"),
            ("630292165", "4269684735"),
            ("523781130", "537331200"),
        ],
    )
    def test_known_answers(self, nonce: str, answer: str) -> None:
        assert answer_open("12345", nonce) == answer

    @given(st.integers(0, 10**30), st.text("0123456789", min_size=1, max_size=20))
    def test_the_answer_is_a_number_of_32_bits(self, password: int, nonce: str) -> None:
        assert 0 <= int(answer_open(str(password), nonce)) < 2**32

    def test_a_password_that_is_no_number_is_refused(self) -> None:
        with pytest.raises(ValueError, match="is a number"):
            answer_open("abcde", "603356072")


class TestHmac:
    @pytest.mark.parametrize(("algorithm", "digits"), [(Algorithm.SHA1, 80), (Algorithm.SHA256, 128)])
    def test_nonces_and_proofs_are_as_long_as_the_protocol_has_them(self, algorithm: Algorithm, digits: int) -> None:
        ours, theirs = algorithm.make_nonce(), algorithm.make_nonce()
        assert ours != theirs
        proofs = algorithm.prove_as_client(ours, theirs, "abc"), algorithm.prove_as_gateway(ours, theirs, "abc")
        assert proofs[0] != proofs[1]
        assert {len(text) for text in (ours, theirs, *proofs)} == {digits}

    @pytest.mark.parametrize("algorithm", list(Algorithm))
    def test_another_password_proves_otherwise(self, algorithm: Algorithm) -> None:
        ours, theirs = algorithm.make_nonce(), algorithm.make_nonce()
        assert not is_same(algorithm.prove_as_client(ours, theirs, "abc"), algorithm.prove_as_client(ours, theirs, "abd"))

    @given(st.binary(max_size=32))
    def test_hexadecimal_digits_travel_as_pairs(self, data: bytes) -> None:
        assert from_digits(to_digits(data.hex())) == data.hex()

    @pytest.mark.parametrize("digits", ["1", "16", "0099", "000"])
    def test_other_digits_are_refused(self, digits: str) -> None:
        with pytest.raises(ValueError, match="two decimal digits"):
            from_digits(digits)
