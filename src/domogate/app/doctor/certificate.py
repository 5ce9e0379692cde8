"""Checks of the certificate: its files, its end date, its host name, and whether the gateway that runs uses it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from domogate.app.doctor.findings import Finding, ok, problem, warning
from domogate.edge.server import CannotListen, Tls
from domogate.settings import Settings

if TYPE_CHECKING:
    from cryptography import x509

RENEW_WITHIN = timedelta(days=21)
"""A certificate that ends within this time must be renewed soon."""


def check_certificate(settings: Settings, path: Path) -> Iterator[Finding]:
    """Check whether the certificate and its key are usable, when it ends, and whether it is for the public URL."""
    from cryptography import x509  # only gateways with TLS need it here

    try:
        certificate = x509.load_pem_x509_certificates(path.read_bytes())[0]
    except (OSError, ValueError) as error:
        yield problem("certificate", f"{path} cannot be read: {error}.", "Name a PEM file with tls_certificate.")
        return
    try:
        Tls(path, settings.tls_key or path).load()
    except CannotListen as error:
        yield problem(
            "certificate",
            str(error),
            "Write the certificate and the key of the same renewal, so that the user of the gateway can read both files.\n"
            "A running gateway keeps its old certificate until then. If it is stopped before, it cannot start again.",
        )
        return
    now, end = datetime.now(UTC), certificate.not_valid_after_utc
    renew = f"Renew it, and write the new files to {path} and {settings.tls_key}."
    if now >= end:
        yield problem("certificate", f"{path} ended on {end:%Y-%m-%d}. No client accepts it.", renew)
    elif now < certificate.not_valid_before_utc:
        begin = certificate.not_valid_before_utc
        yield problem("certificate", f"{path} is valid from {begin:%Y-%m-%d}.", "Check the clock of this machine.")
    elif end - now < RENEW_WITHIN:
        yield warning("certificate", f"{path} ends on {end:%Y-%m-%d}, in {(end - now).days} days.", renew)
    else:
        yield ok("certificate", f"{path} is valid until {end:%Y-%m-%d}.")
    host = urlsplit(settings.base_url).hostname or ""
    if not _names_host(certificate, host):
        yield problem(
            "certificate",
            f"{path} is not for {host}, the host of the public URL.",
            "Use a certificate with this name, or set public_url to a name of the certificate.",
        )


def check_served_certificate(settings: Settings, served: bytes) -> Iterator[Finding]:
    """Warn if the gateway that runs uses another certificate than the one in the file."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    try:
        certificate = x509.load_pem_x509_certificates((settings.tls_certificate or Path()).read_bytes())[0]
        end = x509.load_der_x509_certificate(served).not_valid_after_utc
    except (OSError, ValueError):
        return  # `check_certificate` has said what is wrong with the file.
    if certificate.public_bytes(Encoding.DER) != served:
        yield warning(
            "certificate",
            f"the gateway that runs still uses another certificate, which ends on {end:%Y-%m-%d}.",
            "It uses new files within 20 seconds. If this warning stays, its log says why it cannot use them.",
        )


def _names_host(certificate: "x509.Certificate", host: str) -> bool:
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    try:
        return ip_address(host) in names.get_values_for_type(x509.IPAddress)
    except ValueError:  # a name, not an address
        pass
    found = [name.lower() for name in names.get_values_for_type(x509.DNSName)]
    return host in found or f"*.{host.partition('.')[2]}" in found
