"""Posts to webhook receivers. The IP address is checked when the connection is opened, and redirects are not followed."""

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING

from domogate.backends.addresses import Address, AllowedAddresses, parse_target
from domogate.common.http_client import open_session, read_limited
from domogate.common.late_imports import load_module
from domogate.ports import Delivered, Undelivered

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import AbstractResolver, ResolveResult
else:
    AbstractResolver = object  # aiohttp uses only the methods, and it is imported later

Lookup = Callable[[str], Awaitable[Sequence[str]]]
"""Finds all IP addresses of a host name. Raises OSError."""

_MAX_ANSWER = 16_384
"""In bytes. A longer body is not read to its end, because only the status matters."""
_LOOKUPS = 64
"""Number of concurrent look-ups. A slow name server blocks only one thread."""


class HttpWebhookSender:
    """Posts events to receivers.

    Each post ends within `deadline` seconds. `networks` are private networks that may be called, even without TLS.
    """

    def __init__(
        self,
        networks: Sequence[str] = (),
        deadline: float = 15.0,
        *,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = AllowedAddresses(networks)
        self._deadline = deadline
        self._names = NameResolver()
        self._lookup = lookup or self._names.look_up
        self._tls = tls
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        """The sessions with TLS (True) and without TLS (False). The first delivery opens a session."""
        self._is_stopped = False

    async def stop(self) -> None:
        self._is_stopped = True
        for session in self._sessions.values():
            await session.close()
        self._names.close()

    async def _find_session(self, *, secure: bool) -> "aiohttp.ClientSession":
        await load_module("aiohttp")
        if self._is_stopped:
            raise Undelivered("The gateway is stopping.")
        if secure not in self._sessions:
            self._sessions[secure] = self._open_session(secure=secure)
        return self._sessions[secure]

    def _open_session(self, *, secure: bool) -> "aiohttp.ClientSession":
        import aiohttp

        # No limit of connections here, because slow receivers could use all of them. Each webhook has its own limit.
        connector = aiohttp.TCPConnector(
            resolver=_CheckedResolver(self._lookup, self._allowed, secure=secure),
            use_dns_cache=False,
            limit=0,
            ssl=self._tls if self._tls is not None else True,
        )
        return open_session(self._deadline, {}, connector)

    async def check_url(self, url: str) -> None:
        target = parse_target(url)
        if target.literal is not None:
            _check(target.literal, self._allowed, secure=target.secure)
            return
        try:
            async with asyncio.timeout(self._deadline):
                await _CheckedResolver(self._lookup, self._allowed, secure=target.secure).resolve(target.host)
        except TimeoutError:
            raise Undelivered(f"The name {target.host} was not found within {self._deadline:g} s.") from None
        except OSError:
            raise Undelivered(f"The name {target.host} cannot be found.") from None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Delivered:
        target = parse_target(url)
        if target.literal is not None:  # The host is an address, so the resolver is not asked.
            _check(target.literal, self._allowed, secure=target.secure)
        session = None if self._is_stopped else self._sessions.get(target.secure)
        if session is None:
            session = await self._find_session(secure=target.secure)
        import aiohttp

        try:
            async with session.post(target.url, data=body, headers=headers, allow_redirects=False) as answer:
                await _drain(answer)
                return Delivered(answer.status, _parse_retry_after(answer.headers.get("Retry-After")))
        except TimeoutError:
            raise Undelivered(f"The receiver did not answer within {self._deadline:g} s.") from None
        except aiohttp.ClientConnectorCertificateError as error:
            reason = getattr(error.certificate_error, "verify_message", "") or "it is not valid"
            raise Undelivered(f"The receiver's certificate is not accepted: {reason}.") from None
        except aiohttp.ClientConnectorDNSError:
            raise Undelivered(f"The name {target.host} cannot be found.") from None
        except aiohttp.ClientConnectorSSLError:
            raise Undelivered("A secure connection (TLS) to the receiver failed.") from None
        except aiohttp.ClientConnectorError as error:
            raise Undelivered(f"The connection to the receiver failed: {error.strerror or 'no route'}.") from None
        except aiohttp.ServerDisconnectedError:
            raise Undelivered("The receiver closed the connection without an answer.") from None
        except (aiohttp.ClientError, OSError, ValueError):
            raise Undelivered("The receiver did not send a valid HTTP response.") from None


class NameResolver:
    """The system's resolver on its own threads. Concurrent requests for the same name share one look-up."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._under_way: dict[str, asyncio.Future[Sequence[str]]] = {}

    async def look_up(self, host: str) -> Sequence[str]:
        found = self._under_way.get(host)
        if found is None:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="domogate-names")
            found = asyncio.get_running_loop().run_in_executor(self._threads, _addresses_of, host)
            self._under_way[host] = found
            found.add_done_callback(lambda done: self._forget(host, done))
        return await asyncio.shield(found)

    def close(self) -> None:
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    def _forget(self, host: str, done: "asyncio.Future[Sequence[str]]") -> None:
        self._under_way.pop(host, None)
        if not done.cancelled():
            done.exception()  # marks the result as read: the caller may have been cancelled


def _addresses_of(host: str) -> Sequence[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except UnicodeError:
        raise OSError(f"{host!r} is not a host name") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class _CheckedResolver(AbstractResolver):
    """Returns the IP addresses of a name. Raises Undelivered if webhooks may not call one of them.

    So each connection goes to an IP address that was checked.
    """

    def __init__(self, lookup: Lookup, allowed: AllowedAddresses, *, secure: bool) -> None:
        self._lookup = lookup
        self._allowed = allowed
        self._secure = secure

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> "list[ResolveResult]":
        results: list[ResolveResult] = []
        for text in await self._lookup(host):
            address = ip_address(text)
            _check(address, self._allowed, secure=self._secure)
            of = socket.AF_INET6 if address.version == 6 else socket.AF_INET
            flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
            if family in (socket.AF_UNSPEC, of):
                results.append(
                    {"hostname": host, "host": text, "port": port, "family": of, "proto": socket.IPPROTO_TCP, "flags": flags}
                )
        if not results:
            raise OSError(f"{host} has no address")
        return results

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _check(address: Address, allowed: AllowedAddresses, *, secure: bool) -> None:
    """Raises Undelivered if webhooks may not call the IP address.

    The message does not contain the IP address, because the address would help a client to scan the internal network.
    """
    if not allowed.permits(address):
        raise Undelivered(
            "The gateway does not call this URL: its host is in a private network, or is not a single host."
            " An operator can allow it by the setting webhook_networks.",
            forbidden=True,
        )
    if not secure and not allowed.is_listed(address):
        raise Undelivered("The gateway does not call this URL without TLS: it must begin with https://.", forbidden=True)


async def _drain(answer: "aiohttp.ClientResponse") -> None:
    """Read the body to the end, so that the connection can be used again. If the body is too long, close the connection."""
    if await read_limited(answer, _MAX_ANSWER) is None:
        answer.close()


def _parse_retry_after(value: str | None) -> float | None:
    """Return the seconds to wait. The header has a number of seconds, or a date (RFC 9110 §10.2.3)."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
