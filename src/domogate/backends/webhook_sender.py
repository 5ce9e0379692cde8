"""Posts to the receivers of webhooks: addresses are checked when they are connected to, and no redirect is followed."""

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from ipaddress import ip_address

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from domogate.backends.addresses import Address, Allowed, parse_target
from domogate.ports import Delivered, Undelivered

Lookup = Callable[[str], Awaitable[Sequence[str]]]
"""All addresses of a host name. Raises OSError."""

_MAX_ANSWER = 16_384
"""More of an answer's body is not read: only its status matters."""
_LOOKUPS = 64
"""Names that are looked up at once: a name server that takes its time holds up one thread, and nobody else."""


class HttpWebhookSender:
    """Posts within `deadline` seconds. `networks` are private addresses that may be called, without TLS too."""

    def __init__(
        self,
        networks: Sequence[str] = (),
        deadline: float = 15.0,
        *,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = Allowed(networks)
        self._deadline = deadline
        self._names = Names()
        self._lookup = lookup or self._names.look_up
        self._tls = tls
        self._secure: aiohttp.ClientSession | None = None
        self._plain: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        self._secure, self._plain = self._open_session(secure=True), self._open_session(secure=False)

    async def stop(self) -> None:
        sessions, self._secure, self._plain = (self._secure, self._plain), None, None
        for session in sessions:
            if session is not None:
                await session.close()
        self._names.close()

    def _open_session(self, *, secure: bool) -> aiohttp.ClientSession:
        # No limit of connections: one that slow receivers could use up would hold up all others. Each webhook has its own.
        connector = aiohttp.TCPConnector(
            resolver=_CheckedResolver(self._lookup, self._allowed, secure=secure),
            use_dns_cache=False,
            limit=0,
            ssl=self._tls if self._tls is not None else True,
        )
        return aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._deadline),
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            headers={"User-Agent": "domogate", "Accept-Encoding": "identity"},
        )

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
        if target.literal is not None:  # connected to without a resolver being asked
            _check(target.literal, self._allowed, secure=target.secure)
        session = self._secure if target.secure else self._plain
        if session is None:
            raise Undelivered("The gateway is stopping.")
        try:
            async with session.post(target.url, data=body, headers=headers, allow_redirects=False) as answer:
                await _read_bounded(answer)
                return Delivered(answer.status, _parse_retry_after(answer.headers.get("Retry-After")))
        except TimeoutError:
            raise Undelivered(f"The receiver did not answer within {self._deadline:g} s.") from None
        except aiohttp.ClientConnectorCertificateError as error:
            reason = getattr(error.certificate_error, "verify_message", "") or "it is not valid"
            raise Undelivered(f"The receiver's certificate is not accepted: {reason}.") from None
        except aiohttp.ClientConnectorDNSError:
            raise Undelivered(f"The name {target.host} cannot be found.") from None
        except aiohttp.ClientConnectorSSLError:
            raise Undelivered("No secure connection (TLS) to the receiver came about.") from None
        except aiohttp.ClientConnectorError as error:
            raise Undelivered(f"The receiver cannot be connected to: {error.strerror or 'no route'}.") from None
        except aiohttp.ServerDisconnectedError:
            raise Undelivered("The receiver closed the connection without an answer.") from None
        except (aiohttp.ClientError, OSError, ValueError):
            raise Undelivered("The receiver did not answer as HTTP does.") from None


class Names:
    """The system's own resolver, on threads of its own; who asks for a name that is being looked up waits for that answer."""

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
            done.exception()  # whoever asked may have given up


def _addresses_of(host: str) -> Sequence[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except UnicodeError:
        raise OSError(f"{host!r} is no host name") from None
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class _CheckedResolver(AbstractResolver):
    """Hands out a name's addresses only when every one of them may be called: what is connected to is what was checked."""

    def __init__(self, lookup: Lookup, allowed: Allowed, *, secure: bool) -> None:
        self._lookup = lookup
        self._allowed = allowed
        self._secure = secure

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 - every family's addresses are looked at
    ) -> list[ResolveResult]:
        results: list[ResolveResult] = []
        for text in await self._lookup(host):
            address = ip_address(text)
            _check(address, self._allowed, secure=self._secure)
            of = socket.AF_INET6 if address.version == 6 else socket.AF_INET
            flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
            results.append(ResolveResult(hostname=host, host=text, port=port, family=of, proto=socket.IPPROTO_TCP, flags=flags))
        if not results:
            raise OSError(f"{host} has no address")
        return results

    async def close(self) -> None:
        """There is nothing to be closed."""


def _check(address: Address, allowed: Allowed, *, secure: bool) -> None:
    """The address itself is not told: whoever registers could be using us to look around."""
    if not allowed.permits(address):
        raise Undelivered(
            "The URL must not be called: its host is in a private network, or is no single host."
            " An operator can allow it by the setting webhook_networks.",
            forbidden=True,
        )
    if not secure and not allowed.is_named(address):
        raise Undelivered("The URL must not be called without TLS: it has to begin with https://.", forbidden=True)


async def _read_bounded(answer: aiohttp.ClientResponse) -> None:
    """What is read to its end leaves a connection that can be used again; a longer answer is cut off with its connection."""
    left = _MAX_ANSWER
    async for piece in answer.content.iter_any():
        left -= len(piece)
        if left < 0:
            answer.close()
            return


def _parse_retry_after(value: str | None) -> float | None:
    """Seconds, or a date (RFC 9110 §10.2.3)."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
