"""Checks of the machine: the data folder, its disk, the limit of open files, and the certificate."""

import os
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from domogate.app.doctor.backups import check_backups
from domogate.app.doctor.findings import Finding, in_another_folder, ok, problem, warning
from domogate.app.parts import find_database_file
from domogate.common.owners import describe_denied
from domogate.edge.files import count_allowed_connections
from domogate.settings import Settings

if TYPE_CHECKING:
    from cryptography import x509

MB = 1_000_000
LITTLE_SPACE, NO_SPACE = 1_000 * MB, 100 * MB
"""In bytes. With less free space than `LITTLE_SPACE` there is a warning, with less than `NO_SPACE` there is a problem."""
RENEW_WITHIN = timedelta(days=21)
"""A certificate that ends within this time must be renewed soon."""


def check_machine(settings: Settings, *, gateway_at: str | None) -> Iterator[Finding]:
    """Check the machine. `gateway_at` is the address at which a gateway answers, or None."""
    yield from check_folder(settings.data.absolute(), gateway_at)
    if settings.data.is_dir():
        yield check_disk(settings)
    if settings.backup_every is not None:
        yield from check_backups(settings, settings.backup_every)
    yield check_open_files(settings.connections_most)
    if settings.tls_certificate is not None:
        yield from check_certificate(settings, settings.tls_certificate)


def check_folder(folder: Path, gateway_at: str | None) -> Iterator[Finding]:
    """Check that only the owner can read the data folder, and that this user may write to it."""
    if not folder.exists() and gateway_at is not None:
        yield in_another_folder("data folder", f"{folder} does not exist", gateway_at)
        return
    if not folder.exists():
        yield warning(
            "data folder", f"{folder} does not exist yet.", "`domogate serve` creates it. Or name another with --data."
        )
        return
    if not folder.is_dir():
        yield problem("data folder", f"{folder} is not a folder.", "Name a folder with --data or DOMOGATE_DATA.")
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield problem(
            "data folder",
            f"this user may not write to {folder}. {describe_denied(folder)}",
            "Run this command and the gateway as the same user, or give the folder to this user (chown).",
        )
        return
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.is_symlink()]
    open_to_others = [path for path in (folder, *files) if stat.S_IMODE(path.stat().st_mode) & 0o077]
    if open_to_others:
        names = " ".join(map(str, open_to_others))
        yield warning("data folder", f"other users of this machine may read {names}.", f"Run: chmod go-rwx {names}")
    else:
        yield ok("data folder", f"{folder} is writable, and only its owner can read it.")


def check_disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(settings.data).free
    database = find_database_file(settings)
    size = database.stat().st_size if database is not None and database.is_file() else 0
    says = f"{free / MB:,.0f} MB are free in {settings.data.absolute()}."
    advice = "Delete files that are not needed, or move the data folder to a larger disk. A full disk refuses every write."
    if free < NO_SPACE:
        return problem("disk", says, advice)
    if free < max(LITTLE_SPACE, size):
        return warning("disk", f"{says} The database has {size / MB:,.0f} MB, and a backup needs as much again.", advice)
    return ok("disk", says)


def check_open_files(connections: int) -> Finding:
    allowed = count_allowed_connections(connections)
    if allowed >= connections:
        return ok("open files", f"this process may have {connections:,} connections.")
    return problem(
        "open files",
        f"this process may have {max(0, allowed):,} connections, and the setting connections_most is {connections:,}.",
        "Raise the hard limit of open files (ulimit -n, LimitNOFILE= of systemd), or lower connections_most and streams_most.",
    )


def check_certificate(settings: Settings, path: Path) -> Iterator[Finding]:
    """Check when the certificate ends, and whether it is for the host name in `public_url`."""
    from cryptography import x509  # only gateways with TLS need it here

    try:
        certificate = x509.load_pem_x509_certificates(path.read_bytes())[0]
    except (OSError, ValueError) as error:
        yield problem("certificate", f"{path} cannot be read: {error}.", "Name a PEM file with tls_certificate.")
        return
    now, end = datetime.now(UTC), certificate.not_valid_after_utc
    renew = f"Renew it, write the new files to {path} and {settings.tls_key}, and restart the gateway."
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
