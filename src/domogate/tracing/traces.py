"""The traces of a gateway: builds the tracer, and wraps the parts whose work has spans."""

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from domogate.common.log import get_logger
from domogate.ports import DeviceHost, Driver, Listener, MessageTrace, WebhookSender
from domogate.tracing.devices import TracedHost, trace_driver
from domogate.tracing.exporting import SEND_SECONDS, build_processor
from domogate.tracing.messages import MessageTraces
from domogate.tracing.requests import ASGIApp, Handler, RequestTraces
from domogate.tracing.webhooks import ChangeContexts, TracedSender

_STOP_SECONDS = 3.0
"""The last spans have this time to reach the collector when the gateway stops."""

_log = get_logger(__name__)


class Traces:
    """Wraps the parts of a gateway, so that their work has spans."""

    def __init__(
        self,
        endpoint: str,
        ratio: float,
        *,
        trusts_clients: bool,
        version: str,
        instance: str,
        routes: Mapping[str, str],
        find_request_id: Callable[[], str | None],
    ) -> None:
        """`ratio` is the part of all traces that is recorded, from 0 to 1. `instance` names this gateway.

        `trusts_clients` says whether a request continues the trace of its client (Decision 0137).
        """
        resource = Resource.create({"service.name": "domogate", "service.version": version, "service.instance.id": instance})
        by_ratio = TraceIdRatioBased(ratio)
        self._provider = TracerProvider(
            # A trusted client can ask that its trace is not recorded. Its flag does not raise the ratio: the id of the trace
            # decides, so that other gateways decide the same.
            sampler=ParentBased(by_ratio, remote_parent_sampled=by_ratio),
            resource=resource,
            shutdown_on_exit=False,
            span_limits=SpanLimits(max_attributes=32, max_events=16, max_links=4, max_attribute_length=256),
        )
        self._provider.add_span_processor(build_processor(OTLPSpanExporter(endpoint, timeout=SEND_SECONDS), endpoint))
        self._tracer = self._provider.get_tracer("domogate", version)
        self._contexts = ChangeContexts()
        self._routes = routes
        self._find_request_id = find_request_id
        self._trusts_clients = trusts_clients
        self.name_roots(())
        self.messages: MessageTrace | None = MessageTraces(self._tracer)
        self.listeners: tuple[Listener, ...] = (self._contexts.apply,)

    def name_roots(self, roots: Collection[str]) -> None:
        """Set the first path segments that a span may name if the operation of its request is not known."""
        self._requests = RequestTraces(
            self._tracer, self._routes, roots, self._find_request_id, trusts_clients=self._trusts_clients
        )

    def wrap(self, app: ASGIApp) -> ASGIApp:
        return self._requests.wrap(app)

    def wrap_handler(self, handler: Handler) -> Handler:
        return self._requests.wrap_handler(handler)

    def wrap_host(self, host: DeviceHost) -> DeviceHost:
        return TracedHost(host, self._tracer)

    def wrap_driver(self, driver: Driver) -> Driver:
        return trace_driver(driver, self._tracer, self._contexts)

    def wrap_sender(self, sender: WebhookSender) -> WebhookSender:
        return TracedSender(sender, self._tracer, self._contexts)

    async def stop(self) -> None:
        """Send the last spans. If the collector does not answer in time, they are dropped."""
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def shut_down() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # The loop is closed.
                loop.call_soon_threadsafe(ended.set)

        # A daemon thread: the process does not wait for a collector that hangs.
        threading.Thread(target=shut_down, name="stop traces", daemon=True).start()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await ended.wait()
        except TimeoutError:
            _log.warning("the last spans did not reach the collector in time")
