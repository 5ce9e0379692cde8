"""Posts to webhook receivers. The IP address is checked when the connection is opened, and redirects are not followed."""

import asyncio
import os
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import lru_cache
from ipaddress import ip_address

import msgspec
from aiohappyeyeballs import AddrInfoType, start_connection

from domogate.backends.addresses import Address, AllowedAddresses, Target, parse_target
from domogate.backends.names import NameResolver
from domogate.backends.post_connection import Answer, InvalidAnswer, NoAnswer, PostConnection
from domogate.ports import Delivered, Undelivered

Lookup = Callable[[str], Awaitable[Sequence[str]]]
"""Finds all IP addresses of a host name. Raises OSError if the look-up fails."""
Origin = tuple[str, int, bool]
"""The host, the port, and whether TLS is used. Requests with the same origin can use the same connection."""

_NEXT_ADDRESS = 0.25
"""In seconds. If one IP address of a name does not answer in this time, the next is tried too (RFC 8305)."""
_MOST_IDLE = 1_000
"""The greatest number of connections that stay open after the answer to their last request."""


class _Receiver(msgspec.Struct, frozen=True):
    """A URL that may be called, and the lines that begin each request to this URL: the request line and constant headers."""

    target: Target
    origin: Origin
    head: str


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
        self._find_receiver = lru_cache(maxsize=4096)(self._prepare)
        self._idle: dict[PostConnection, Origin] = {}
        """The open connections without a request."""
        self._idle_at: dict[Origin, list[PostConnection]] = {}
        self._is_stopped = False

    async def stop(self) -> None:
        self._is_stopped = True
        for connection in tuple(self._idle):
            connection.abort()
        self._names.close()

    async def check_url(self, url: str) -> None:
        target = parse_target(url)
        try:
            async with asyncio.timeout(self._deadline):
                await self._find_addresses(target)
        except TimeoutError:
            raise Undelivered(f"The name {target.host} was not found within {self._deadline:g} s.") from None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Delivered:
        receiver = self._find_receiver(url)
        if self._is_stopped:
            raise Undelivered("The gateway is stopping.")
        request = _print_request(receiver.head, body, headers)
        try:
            answer = await self._exchange(receiver, request, asyncio.get_running_loop().time() + self._deadline)
        except TimeoutError:
            raise Undelivered(f"The receiver did not answer within {self._deadline:g} s.") from None
        except NoAnswer:
            raise Undelivered("The receiver closed the connection without an answer.") from None
        except InvalidAnswer:
            raise Undelivered("The receiver did not send a valid HTTP response.") from None
        retry_after = None if answer.retry_after is None else _parse_retry_after(answer.retry_after)
        return Delivered(answer.status, retry_after)

    async def _exchange(self, receiver: _Receiver, request: bytes, ends_at: float) -> Answer:
        connection = self._take_idle(receiver.origin)
        if connection is not None:
            try:
                answer = await connection.post(request, ends_at)
            except NoAnswer:
                # The receiver closed the idle connection, perhaps before it got the request. A receiver that did get the
                # request recognises the repeated request by its `webhook-id`.
                connection = None
        if connection is None:
            async with asyncio.timeout_at(ends_at):
                connection = await self._connect(receiver.target, receiver.origin)
            answer = await connection.post(request, ends_at)
        if connection.is_usable:
            self._keep(connection, receiver.origin)
        else:
            connection.abort()
        return answer

    # connections

    async def _connect(self, target: Target, origin: Origin) -> PostConnection:
        """Find and check the IP addresses of the host, and connect to one of them. Raises Undelivered if this fails."""
        addresses = await self._find_addresses(target)
        tls = await self._find_tls() if target.secure else None
        infos = [_address_info(address, origin[1]) for address in addresses]
        loop = asyncio.get_running_loop()
        try:
            connected = await start_connection(infos, happy_eyeballs_delay=_NEXT_ADDRESS, loop=loop)
            _, connection = await loop.create_connection(
                lambda: PostConnection(self._forget),
                sock=connected,
                ssl=tls,
                server_hostname=target.host.rstrip(".") if target.secure else None,
            )
        except ssl.SSLCertVerificationError as error:
            raise Undelivered(f"The receiver's certificate is not accepted: {error.verify_message}.") from None
        except ssl.SSLError:
            raise Undelivered("A secure connection (TLS) to the receiver failed.") from None
        except OSError as error:
            # Not the text of the error, which may contain the IP address.
            reason = os.strerror(error.errno) if error.errno else "no route"
            raise Undelivered(f"The connection to the receiver failed: {reason}.") from None
        return connection

    async def _find_tls(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)  # it reads the certificates of the system
        return self._tls

    def _take_idle(self, origin: Origin) -> PostConnection | None:
        while found := self._idle_at.get(origin):
            connection = found[-1]
            self._forget(connection)
            if connection.is_usable:
                return connection
        return None

    def _keep(self, connection: PostConnection, origin: Origin) -> None:
        if self._is_stopped:
            connection.abort()
            return
        self._idle[connection] = origin
        self._idle_at.setdefault(origin, []).append(connection)
        if len(self._idle) > _MOST_IDLE:
            next(iter(self._idle)).abort()

    def _forget(self, connection: PostConnection) -> None:
        origin = self._idle.pop(connection, None)
        if origin is not None:
            at = self._idle_at[origin]
            at.remove(connection)
            if not at:
                del self._idle_at[origin]

    # addresses

    def _prepare(self, url: str) -> _Receiver:
        """Return the receiver with this URL.

        Raises Undelivered if the URL is not valid. Also raises Undelivered if the host is an IP address that may not be called.
        """
        target = parse_target(url)
        if target.literal is not None:
            _check(target.literal, self._allowed, secure=target.secure)
        parsed = target.url
        head = (
            f"POST {parsed.raw_path_qs} HTTP/1.1\r\nHost: {parsed.host_port_subcomponent}\r\n"
            "User-Agent: domogate\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"
        )
        return _Receiver(target, (target.host, parsed.port or 0, target.secure), head)

    async def _find_addresses(self, target: Target) -> Sequence[Address]:
        """Return the IP addresses of the host. Raises Undelivered if none is found, or if one of them may not be called."""
        if target.literal is not None:
            found: Sequence[Address] = [target.literal]
        else:
            try:
                found = [ip_address(text) for text in await self._lookup(target.host)]
            except OSError:
                found = []
        if not found:
            raise Undelivered(f"The name {target.host} cannot be found.")
        for address in found:
            _check(address, self._allowed, secure=target.secure)
        return found


def _address_info(address: Address, port: int) -> AddrInfoType:
    place = (str(address), port) if address.version == 4 else (str(address), port, 0, 0)
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    return family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", place


def _check(address: Address, allowed: AllowedAddresses, *, secure: bool) -> None:
    """Raises Undelivered if webhooks may not call the IP address.

    If the URL does not use TLS (`secure` is false), webhooks may call only IP addresses that the operator allowed.

    The message does not contain the IP address, because the address would help a client to scan the internal network.
    """
    if not allowed.permits(address):
        raise Undelivered(
            "The gateway does not call this URL: the IP address of its host is not public."
            " An operator can allow it by the setting webhook_networks.",
            forbidden=True,
        )
    if not secure and not allowed.is_listed(address):
        raise Undelivered("The gateway does not call this URL without TLS: it must begin with https://.", forbidden=True)


def _print_request(head: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    """Return the request as bytes. Raises ValueError for a header with a line end."""
    more = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if more.count("\r") != len(headers) or more.count("\n") != len(headers):
        raise ValueError("a header contains a line end")
    return f"{head}{more}Content-Length: {len(body)}\r\n\r\n".encode("ascii") + body


def _parse_retry_after(value: str) -> float | None:
    """Return the seconds to wait. Return None if the value is neither a number of seconds nor a date (RFC 9110 §10.2.3)."""
    value = value.strip()
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
