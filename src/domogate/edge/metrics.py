"""Prometheus metrics of this process, in their own registry. A small ASGI app serves them on a separate port.

Requests are counted in plain Python numbers. The numbers become metrics only when Prometheus fetches (scrapes) them. The event
loop is one thread, so the locks of prometheus_client are not needed. The locks would take more time than the counting. The
library is imported at the first scrape, because many gateways are never scraped (Decision 0098).
"""

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds of the buckets of durations, in seconds. The last bucket has no bound."""

Labelled = Mapping[tuple[str, ...], float]
"""Maps the values of the labels, in the order of the label names, to the value of the metric."""
Value = Callable[[], float] | Callable[[], Labelled]
"""Returns the value of a metric, or its values for all labels."""


class Durations:
    """The durations of the requests of one operation. `count` also counts event streams, whose duration is not measured."""

    __slots__ = ("buckets", "count", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.buckets = [0] * (len(BOUNDS) + 1)

    def add(self, other: "Durations") -> None:
        self.count += other.count
        self.total += other.total
        self.buckets = [own + more for own, more in zip(self.buckets, other.buckets, strict=True)]

    def cumulated(self) -> list[tuple[str, float]]:
        running, rows = 0, []
        for bound, count in zip((*BOUNDS, "+Inf"), self.buckets, strict=True):
            running += count
            rows.append((str(bound), float(running)))
        return rows


class Description(NamedTuple):
    """The description of a metric in docs/metrics.md."""

    name: str
    kind: str
    unit: str
    """`seconds`, `bytes`, or what is counted, for example `requests`. A metric that only shows a state has `0 or 1`."""
    labels: tuple[str, ...]
    text: str


class _Metric(NamedTuple):
    """A metric that another part of the gateway registered: a gauge or a counter."""

    is_counter: bool
    name: str
    unit: str
    text: str
    value: Callable[[], Any]
    labels: tuple[str, ...]


_REQUESTS = Description(
    "domogate_requests_total",
    "counter",
    "requests",
    ("api", "operation", "status"),
    "Requests that ended. The status 499 is never sent: it counts requests whose client disconnected before the answer.",
)
_SECONDS = Description(
    "domogate_request_seconds",
    "histogram",
    "seconds",
    ("api", "operation"),
    "Time from the arrival of a request until its answer, or until its client disconnected. Event streams are not counted.",
)
_REFUSED = Description(
    "domogate_refused_requests_total",
    "counter",
    "requests",
    ("status",),
    "Requests that the guards of the HTTP server refused.",
)


class Metrics:
    """Counts requests, and shows the gauges and counters of other parts."""

    def __init__(self, name_api: Callable[[str], str] = lambda operation: operation.partition(".")[0]) -> None:
        """`name_api` returns the API of an operation: the value of the label `api`."""
        self._name_api = name_api
        self.in_flight = 0
        self.prepare: Callable[[], Awaitable[None]] | None = None
        """Awaited at each scrape, before the answer is made: this function reads the present values of some metrics."""
        self._metrics: list[_Metric] = []
        self._durations: dict[tuple[str, int], Durations] = {}
        self._refused: dict[int, int] = {}
        self.gauge("domogate_requests_in_flight", "requests", "Requests that have no answer yet.", lambda: self.in_flight)

    def count_request(self, operation: str, status: int, seconds: float | None) -> None:
        """Count a request that ended. `seconds` is None if the duration of the request is not measured."""
        durations = self._durations.get((operation, status))
        if durations is None:
            durations = self._durations[operation, status] = Durations()
        durations.count += 1
        if seconds is not None:
            durations.total += seconds
            durations.buckets[bisect_left(BOUNDS, seconds)] += 1

    @property
    def counts(self) -> Mapping[tuple[str, int], int]:
        """The number of requests that ended, by operation and status."""
        return {key: durations.count for key, durations in self._durations.items()}

    @property
    def durations(self) -> Mapping[str, Durations]:
        """The durations of the requests that ended, by operation."""
        merged: dict[str, Durations] = {}
        for (operation, _), durations in self._durations.items():
            if not any(durations.buckets):
                continue  # Only streams, whose duration is not measured.
            merged.setdefault(operation, Durations()).add(durations)
        return merged

    def count_refused(self, status: int) -> None:
        """Count a request that the HTTP server itself refused. Pass this method as `on_refused` to `server.run`."""
        self._refused[status] = self._refused.get(status, 0) + 1

    def gauge(self, name: str, unit: str, text: str, value: Value, labels: tuple[str, ...] = ()) -> None:
        """Register a gauge. `value` is called at each scrape, and returns the number that the gauge shows.

        If the gauge has labels, `value` returns a mapping: from the values of the labels to the number.
        """
        self._metrics.append(_Metric(False, name, unit, text, value, labels))

    def counter(self, name: str, unit: str, text: str, value: Value, labels: tuple[str, ...] = ()) -> None:
        """Register a counter: a number that only grows. `value` is called at each scrape, and returns this number.

        If the counter has labels, `value` returns a mapping: from the values of the labels to the number.
        """
        self._metrics.append(_Metric(True, name, unit, text, value, labels))

    def describe(self) -> list[Description]:
        """Return the descriptions of all metrics of the gateway, in the order of their names."""
        registered = (
            Description(f"{one.name}_total", "counter", one.unit, one.labels, one.text)
            if one.is_counter
            else Description(one.name, "gauge", one.unit, one.labels, one.text)
            for one in self._metrics
        )
        return sorted((*registered, _REQUESTS, _SECONDS, _REFUSED))

    @cached_property
    def registry(self) -> "CollectorRegistry":
        from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector

        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        registry.register(_Collector(self._collect))
        return registry

    def _collect(self) -> "Iterator[Metric]":
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        for one in self._metrics:
            family = CounterMetricFamily if one.is_counter else GaugeMetricFamily
            metric = family(one.name, one.text, labels=one.labels)
            now = one.value()
            for label_values, number in now.items() if one.labels else [((), now)]:
                metric.add_metric(label_values, number)
            yield metric
        requests = CounterMetricFamily(_REQUESTS.name, _REQUESTS.text, labels=_REQUESTS.labels)
        for (operation, status), count in self.counts.items():
            requests.add_metric((self._name_api(operation), operation, str(status)), count)
        yield requests
        seconds = HistogramMetricFamily(_SECONDS.name, _SECONDS.text, labels=_SECONDS.labels)
        for operation, durations in self.durations.items():
            seconds.add_metric((self._name_api(operation), operation), durations.cumulated(), durations.total)
        yield seconds
        refused = CounterMetricFamily(_REFUSED.name, _REFUSED.text, labels=_REFUSED.labels)
        for status, count in self._refused.items():
            refused.add_metric((str(status),), count)
        yield refused

    async def app(self, scope: Any, _receive: Any, send: Any) -> None:
        """Answer GET and HEAD of /metrics. All other requests get an error. This method is an ASGI app."""
        if scope["type"] != "http":
            return
        if scope["path"] != "/metrics":
            status, headers, body = 404, [(b"content-type", b"text/plain")], b"Metrics are at /metrics.\n"
        elif scope["method"] not in ("GET", "HEAD"):
            status, headers, body = 405, [(b"allow", b"GET, HEAD")], b""
        else:
            from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

            if self.prepare is not None:
                await self.prepare()
            status, headers, body = 200, [(b"content-type", CONTENT_TYPE_LATEST.encode())], generate_latest(self.registry)
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class _Collector:
    """A collector of prometheus_client that is called at each scrape."""

    def __init__(self, collect: "Callable[[], Iterator[Metric]]") -> None:
        self.collect = collect

    def describe(self) -> "list[Metric]":
        return []
