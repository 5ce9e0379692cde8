"""Decides at the start whether the gateway records traces. Without traces, no part is wrapped, so no request is slower."""

import socket
from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from domogate import __version__
from domogate.app.slow_requests import list_routes
from domogate.edge.direct import Handler
from domogate.edge.request_ids import current_request_id
from domogate.edge.stack import ASGIApp
from domogate.ports import DeviceHost, Driver, Listener, MessageTrace, WebhookSender
from domogate.settings import BadSettings, Mistake, Settings

T = TypeVar("T")


class Tracing(Protocol):
    """Wraps the parts of a gateway, so that their work has spans."""

    messages: MessageTrace | None
    """Records the traces of messages between gateways. None if the gateway records no traces."""

    @property
    def listeners(self) -> Sequence[Listener]:
        """Functions that get each committed change."""
        ...

    def name_roots(self, roots: Collection[str]) -> None: ...
    def wrap(self, app: ASGIApp, /) -> ASGIApp: ...
    def wrap_handler(self, handler: Handler, /) -> Handler: ...
    def wrap_host(self, host: DeviceHost, /) -> DeviceHost: ...
    def wrap_driver(self, driver: Driver, /) -> Driver: ...
    def wrap_sender(self, sender: WebhookSender, /) -> WebhookSender: ...
    async def stop(self) -> None: ...


def _same(part: T, /) -> T:
    return part


class NoTraces:
    """Implements Tracing for a gateway that records no traces: the methods `wrap…` return their argument unchanged."""

    messages: MessageTrace | None = None
    listeners: Sequence[Listener] = ()
    wrap: Callable[[ASGIApp], ASGIApp] = staticmethod(_same)
    wrap_handler: Callable[[Handler], Handler] = staticmethod(_same)
    wrap_host: Callable[[DeviceHost], DeviceHost] = staticmethod(_same)
    wrap_driver: Callable[[Driver], Driver] = staticmethod(_same)
    wrap_sender: Callable[[WebhookSender], WebhookSender] = staticmethod(_same)

    def name_roots(self, roots: Collection[str]) -> None: ...
    async def stop(self) -> None: ...


def build_traces(settings: Settings, process: int | None = None) -> Tracing:
    """Return the object that records traces, or NoTraces if the setting `trace_endpoint` is not set.

    Raises BadSettings if this setting is set and the library for traces is missing.
    """
    endpoint = settings.trace_endpoint
    if endpoint is None:
        return NoTraces()
    try:
        from domogate.tracing import Traces  # needs opentelemetry
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        source = settings.sources.get("trace_endpoint", "settings")
        problem = "traces need the library OpenTelemetry: run `pip install domogate[otel]`, or remove this setting."
        raise BadSettings([Mistake("trace_endpoint", source, problem)]) from None
    instance = f"{socket.gethostname()}:{settings.port}"
    return Traces(
        endpoint,
        settings.trace_ratio,
        trusts_clients=settings.trust_traceparent,
        version=__version__,
        instance=instance if process is None else f"{instance}/{process}",
        routes=dict(list_routes()),
        find_request_id=current_request_id.get,
    )
