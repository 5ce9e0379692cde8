"""A secret for an authenticator app, as a picture to scan and as letters to type."""

import msgspec
import segno


class Enrolment(msgspec.Struct, frozen=True):
    picture: str
    """A data: URI."""
    secret: str
    groups: tuple[str, ...]
    """The secret, four letters at a time."""
    uri: str


def enrolment(uri: str, secret: str) -> Enrolment:
    """Dark on light in both colour schemes: not every camera reads a QR code the other way round."""
    picture = segno.make(uri, error="m").svg_data_uri(scale=5, border=3, dark="#10201e", light="#ffffff")
    groups = tuple(secret[start : start + 4] for start in range(0, len(secret), 4))
    return Enrolment(picture, secret, groups, uri)
