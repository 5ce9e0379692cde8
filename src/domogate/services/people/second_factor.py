"""Codes as a second factor: an authenticator app computes them from a shared secret and the time (RFC 6238)."""

import base64
import binascii
import hmac

import pyotp

from domogate.ports import Clock

_STEP = 30
_SECRET_BYTES = 20
"""The size of a secret in bytes. RFC 4226 §4 recommends 160 bits."""


class SecondFactor:
    """Makes TOTP secrets and checks TOTP codes. Codes of the previous and the next time step are also valid (RFC 6238 §5.2).

    `use_totp_step` of the store ensures that no code is used twice, even if two gateways get the same code.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def new_secret(self) -> str:
        return pyotp.random_base32(_SECRET_BYTES * 8 // 5)

    def enrolment_uri(self, secret: str, email: str) -> str:
        """Return the content of the QR code from which the authenticator app reads the secret."""
        return pyotp.TOTP(secret).provisioning_uri(email, issuer_name="Domogate")

    def find_step(self, secret: str, code: str) -> int | None:
        """Return the time step of the code, or None if the code is wrong. If two steps match, return the later one."""
        digits = code.replace(" ", "")
        totp = pyotp.TOTP(secret)
        now = int(self._clock.now()) // _STEP
        # All three codes are compared, so that the duration does not reveal which one matched.
        fitting = [step for step in (now - 1, now, now + 1) if _equal(totp.generate_otp(step), digits)]
        return max(fitting, default=None)


def is_secret(text: str) -> bool:
    """Whether the text has the form of a secret that `new_secret` makes."""
    try:
        return len(base64.b32decode(text)) == _SECRET_BYTES
    except (binascii.Error, ValueError):
        return False


def _equal(code: str, given: str) -> bool:
    return hmac.compare_digest(code.encode(), given.encode("utf-8", "surrogatepass"))
