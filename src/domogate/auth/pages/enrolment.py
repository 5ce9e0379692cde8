"""The secret of an authenticator app, as a QR code to scan and as letters to type."""

import msgspec

from domogate.domain.login_names import print_email
from domogate.services.people import SecondFactor


class Enrolment(msgspec.Struct, frozen=True):
    picture: str
    """The QR code as a data: URI."""
    secret: str
    groups: tuple[str, ...]
    """The secret in groups of four letters."""


def build_enrolment(second_factor: SecondFactor, secret: str, email: str) -> Enrolment:
    """Return the secret as a QR code and as letters.

    The QR code is dark on light in both colour schemes: some cameras cannot read an inverted code.
    """
    import segno  # Few requests need a QR code.

    uri = second_factor.enrolment_uri(secret, print_email(email))
    picture = segno.make(uri, error="m").svg_data_uri(scale=5, border=3, dark="#10201e", light="#ffffff")
    return Enrolment(picture, secret, tuple(secret[start : start + 4] for start in range(0, len(secret), 4)))
