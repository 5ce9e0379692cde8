"""The certificate of the server. A renewed certificate is used without a restart (Decision 0143)."""

import asyncio
import math
import ssl
from datetime import UTC, datetime
from pathlib import Path

from domogate.common.log import get_logger
from domogate.edge.listening import CannotListen

CHECK_EVERY = 10.0
"""In seconds. The files of the certificate and its key are checked for changes at this interval.

A check costs little: it only asks the system for the sizes and times of the two files.
"""

_log = get_logger(__name__)
_Signature = tuple[tuple[int, ...] | None, ...]


class Tls:
    """A certificate with its chain, and its private key: two PEM files. `load` must be called before `context` is used."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.certificate, self.key = certificate, key
        self.end = math.nan
        """The time at which the present certificate expires, in seconds since 1970. NaN if this time is not known."""
        self._context: ssl.SSLContext | None = None
        self._seen: _Signature = ()
        self._failed: _Signature = ()
        self._told: _Signature = ()

    @property
    def context(self) -> ssl.SSLContext:
        """The TLS settings for new connections. They contain the certificate."""
        if self._context is None:
            raise RuntimeError("the certificate is not loaded")
        return self._context

    def load(self) -> None:
        """Use the certificate that is in the files now. If it cannot be used, raises CannotListen and changes nothing."""
        signature = self._sign()
        # A new context for each certificate: OpenSSL changes an old one even if the key does not fit.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(self.certificate, self.key, _refuse_passphrase)
            end = _read_end(self.certificate)
        except ssl.SSLError as error:
            raise CannotListen(
                f"tls_certificate, tls_key: {self.certificate} and {self.key} are not a certificate and its key"
                f" in PEM ({error.reason or error})."
            ) from error
        except OSError as error:
            raise CannotListen(
                f"tls_certificate, tls_key: {self.certificate} or {self.key} cannot be read: {error.strerror}."
            ) from error
        except _HasPassphrase as error:
            raise CannotListen(f"tls_key: {self.key} has a passphrase. Write the key without one.") from error
        self._context, self.end, self._seen = context, end, signature

    def refresh(self) -> None:
        """If the files have changed, use the certificate that is in them now. If it cannot be used, keep the old certificate.

        The files of the certificate and of its key are not written at the same moment. So for a short time, the key may not fit
        the certificate. Because of this, a failure is logged only if the next call finds the files unchanged.
        """
        signature = self._sign()
        if signature in (self._seen, self._told):
            return
        try:
            self.load()
        except CannotListen as problem:
            if signature == self._failed:
                self._told = signature
                event = "the new certificate cannot be used; the gateway keeps the old one"
                _log.error(event, problem=str(problem), **self._tell_end())
            self._failed = signature
        else:
            self._failed = self._told = ()
            _log.info("the gateway uses a new certificate for new connections", **self._tell_end())

    async def watch(self) -> None:
        """Call `refresh` again and again, until the task is cancelled."""
        while True:
            await asyncio.sleep(CHECK_EVERY)
            await asyncio.to_thread(self.refresh)

    def _sign(self) -> _Signature:
        return tuple(map(_sign_file, (self.certificate, self.key)))

    def _tell_end(self) -> dict[str, str]:
        return {} if math.isnan(self.end) else {"ends": datetime.fromtimestamp(self.end, UTC).isoformat()}


def _sign_file(path: Path) -> tuple[int, ...] | None:
    """Return numbers that change when the file or its permissions change, or None if the system cannot find it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read_end(path: Path) -> float:
    from cryptography import x509  # only gateways with TLS need it here

    try:
        return x509.load_pem_x509_certificates(path.read_bytes())[0].not_valid_after_utc.timestamp()
    except ValueError:
        return math.nan  # OpenSSL could read the certificate, so it is used.


class _HasPassphrase(Exception):
    """Raised if the private key is encrypted, so that it cannot be read without a passphrase."""


def _refuse_passphrase() -> str:
    """Raise _HasPassphrase. OpenSSL calls this function if the private key is encrypted.

    Without this function, OpenSSL would ask for the passphrase on the terminal, and the gateway would wait.
    """
    raise _HasPassphrase
