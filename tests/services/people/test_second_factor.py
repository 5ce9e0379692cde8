from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest

from domogate.services.people import SecondFactor, is_secret
from support.clocks import ManualClock

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
"""The secret of RFC 6238, appendix B."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def factor(clock: ManualClock) -> SecondFactor:
    return SecondFactor(clock)


def code(clock: ManualClock, steps: int = 0) -> str:
    return pyotp.TOTP(SECRET).generate_otp(int(clock.now()) // 30 + steps)


class TestCodes:
    @pytest.mark.parametrize(("at", "eight_digits"), [(59, "94287082"), (1111111109, "07081804"), (20000000000, "65353130")])
    def test_are_those_of_the_standard(self, factor: SecondFactor, clock: ManualClock, at: int, eight_digits: str) -> None:
        clock.at = float(at)
        assert factor.find_step(SECRET, eight_digits[2:]) == at // 30

    @pytest.mark.parametrize("steps", [-1, 0, 1])
    def test_of_the_step_before_and_after_count_as_what_they_are(
        self, factor: SecondFactor, clock: ManualClock, steps: int
    ) -> None:
        assert factor.find_step(SECRET, code(clock, steps)) == int(clock.now()) // 30 + steps

    @pytest.mark.parametrize("steps", [-3, -2, 2, 3])
    def test_of_any_other_step_do_not(self, factor: SecondFactor, clock: ManualClock, steps: int) -> None:
        assert factor.find_step(SECRET, code(clock, steps)) is None

    def test_of_two_steps_count_as_the_later_one(
        self, factor: SecondFactor, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Otherwise the code could be used for each of them."""
        monkeypatch.setattr(pyotp.TOTP, "generate_otp", lambda self, step: "123456")
        assert factor.find_step(SECRET, "123456") == int(clock.now()) // 30 + 1

    def test_may_be_typed_with_a_space(self, factor: SecondFactor, clock: ManualClock) -> None:
        digits = code(clock)
        assert factor.find_step(SECRET, f" {digits[:3]} {digits[3:]} ") is not None

    @pytest.mark.parametrize("given", ["", "0", "abcdef", "１２３４５６", "\ud800", "1" * 5000])
    def test_invalid_codes_are_refused(self, factor: SecondFactor, given: str) -> None:
        assert factor.find_step(SECRET, given) is None


class TestSecrets:
    def test_have_160_bits_and_are_never_the_same(self, factor: SecondFactor) -> None:
        secrets = {factor.new_secret() for _ in range(50)}
        assert len(secrets) == 50
        assert all(is_secret(secret) for secret in secrets)

    @pytest.mark.parametrize("text", ["", "A", "JBSWY3DP", SECRET + SECRET, SECRET[:-1] + "1", SECRET.lower(), "é" * 32])
    def test_of_another_form_are_told_apart(self, text: str) -> None:
        assert not is_secret(text)

    def test_are_told_to_an_app_by_a_uri(self, factor: SecondFactor) -> None:
        uri = urlsplit(factor.enrolment_uri(SECRET, "anna@example.com"))
        assert (uri.scheme, uri.netloc) == ("otpauth", "totp")
        assert "anna" in uri.path
        assert parse_qs(uri.query)["secret"] == [SECRET]
        assert parse_qs(uri.query)["issuer"] == ["Domogate"]
