"""Traces over real HTTP: from a request to a driver, to another gateway of a cluster, and to the receiver of a webhook."""

import json
import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from support.cluster_gateway import ClusterGateway, start_cluster
from support.collector import Collector, ReceivedSpan, ids_of, parents_of
from support.gateway import Gateway, eventually, running, start
from support.http import KEY_HEADER, Api
from support.ports import free_port
from support.receivers import ThreadedReceiver
from support.spec_operations import E1, E8

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PLUG = "POST /homectl/api/v1.0/plug/energy/addressLocation/plants/{plantId}/ambients/parameter/id/value/{ambientId}"


def new_parent(*, sampled: bool = True) -> tuple[str, str, str]:
    """Return the ids of a trace and of its first span, and the header that names them."""
    trace_id, span_id = secrets.token_hex(16), secrets.token_hex(8)
    return trace_id, span_id, f"00-{trace_id}-{span_id}-{'01' if sampled else '00'}"


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[Gateway]:
    settings = {**traced(collector), "DOMOGATE_STATE_MAX_AGE": "0.001"}
    with running(start("demo", tmp_path_factory.mktemp("traced"), settings)) as gateway:
        yield gateway


def traced(collector: Collector) -> dict[str, str]:
    """The settings of a gateway that continues the traces of its clients."""
    return {"DOMOGATE_TRACE_ENDPOINT": collector.url, "DOMOGATE_TRUST_TRACEPARENT": "true"}


def command(gateway: Gateway, parent: str) -> tuple[str, dict[str, str]]:
    who, target = gateway.case(E1)
    answer = gateway.send(E1, target, who=who, headers={"traceparent": parent, "tracestate": f"a={'b' * 200}"})
    assert answer.status_code == 200, answer.text
    return who, dict(target)


def write_down(spans: Iterable[ReceivedSpan]) -> str:
    return json.dumps([[span.name, span.attributes] for span in tuple(spans)])


def is_whole(spans: Mapping[str, list[ReceivedSpan]]) -> bool:
    """Whether no parent of a span of the trace is missing."""
    found = [span for named in spans.values() for span in named]
    return "nats answer" in spans and parents_of(found) <= ids_of(found) | parents_of(spans.get(PLUG, []))


class TestOneGateway:
    def test_a_command_is_one_trace_from_the_client_to_the_receiver_of_a_webhook(
        self, gateway: Gateway, collector: Collector
    ) -> None:
        trace_id, span_id, parent = new_parent()
        receiver = ThreadedReceiver()
        who, target = gateway.case(E1)
        headers = {KEY_HEADER: gateway.subscription_key, "Authorization": f"Bearer {gateway.people[who].id_token}"}
        wanted = {"plantId": target["plant"], "url": f"{receiver.url}/hook?secret=s3cr3t", "kinds": ["state"]}
        made = gateway.api.http.post("/webhooks", headers=headers, json=wanted)
        assert made.status_code == 201, made.text
        try:
            command(gateway, parent)
            spans = collector.wait_for(trace_id, PLUG, "order", "driver execute", "webhook delivery")
            (delivery, *_) = spans["webhook delivery"]
            traced = f"00-{trace_id}-{delivery.span_id}-01"
            got = receiver.wait_for(lambda got: any(one.headers.get("traceparent") == traced for one in got))
            assert [one.headers["tracestate"] for one in got if "tracestate" in one.headers] == [], "it is not passed on"
        finally:
            gateway.api.http.delete(f"/webhooks/{made.json()['id']}", headers=headers)
            receiver.close()
        assert parents_of(spans[PLUG]) == {span_id}
        assert parents_of(spans["order"]) == ids_of(spans[PLUG])
        assert parents_of(spans["driver execute"]) == ids_of(spans["order"])
        assert delivery.parent_id in ids_of(spans["order"])
        assert {order.events for order in spans["order"]} == {("queued", "sent", "done")}
        assert delivery.attributes["http.response.status_code"] == "200"
        assert "s3cr3t" not in write_down(span for found in spans.values() for span in found)

    def test_a_request_names_its_operation_and_no_values(self, gateway: Gateway, collector: Collector) -> None:
        trace_id, _, parent = new_parent()
        who, target = command(gateway, parent)
        (request,) = collector.wait_for(trace_id, PLUG)[PLUG]
        assert request.attributes["domogate.operation"] == "E1"
        assert request.attributes["http.response.status_code"] == "200"
        assert request.attributes["domogate.request_id"]
        text = json.dumps([request.name, request.attributes])
        person = gateway.people[who]
        for value in (*target.values(), who, person.access_token, person.id_token, gateway.subscription_key):
            assert value not in text

    def test_a_read_that_asks_the_device_has_a_trace(self, gateway: Gateway, collector: Collector) -> None:
        trace_id, _, parent = new_parent()
        who, target = gateway.case(E8)
        assert gateway.send(E8, target, who=who, headers={"traceparent": parent}).status_code == 200
        spans = collector.wait_for(trace_id, "read", "driver read")
        assert parents_of(spans["driver read"]) == ids_of(spans["read"])

    def test_a_request_through_asgi_has_a_span(self, gateway: Gateway, collector: Collector) -> None:
        trace_id, span_id, parent = new_parent()
        assert gateway.api.http.get("/openapi", headers={"traceparent": parent}).status_code == 200
        assert parents_of(collector.wait_for(trace_id, "GET /openapi")["GET /openapi"]) == {span_id}

    def test_a_client_can_ask_for_no_trace(self, gateway: Gateway, collector: Collector) -> None:
        unsampled, _, without = new_parent(sampled=False)
        sampled, _, parent = new_parent()
        gateway.api.http.get("/openapi", headers={"traceparent": without})
        gateway.api.http.get("/openapi", headers={"traceparent": parent})
        collector.wait_for(sampled, "GET /openapi")
        assert collector.of_trace(unsampled) == {}

    def test_no_span_has_a_secret(self, gateway: Gateway, collector: Collector) -> None:
        trace_id, _, parent = new_parent()
        command(gateway, parent)
        collector.wait_for(trace_id, PLUG, "order", "driver execute")
        text = write_down(collector.spans)
        assert "order" in text
        secret_texts = [gateway.subscription_key, *gateway.people]
        secret_texts += [token for person in gateway.people.values() for token in (person.id_token, person.access_token)]
        assert [secret for secret in secret_texts if secret in text] == []


class TestStrangers:
    def test_each_request_begins_a_trace_with_a_link_to_the_trace_of_the_client(self, tmp_path: Path) -> None:
        trace_id, span_id, parent = new_parent()
        unsampled, first, without = new_parent(sampled=False)
        headers = [without, "00-xyz", f"00-{'0' * 32}-{'0' * 16}-01", "x" * 4_000]
        with Collector() as collector, running(start("demo", tmp_path, {"DOMOGATE_TRACE_ENDPOINT": collector.url})) as gateway:
            command(gateway, parent)
            for header in headers:
                assert gateway.api.http.get("/openapi", headers={"traceparent": header}).status_code == 200
            eventually(lambda: sum(span.name == "GET /openapi" for span in collector.spans) == len(headers), "each has a span")
            (order,) = [span for span in collector.spans if span.name == PLUG]
            collector.wait_for(order.trace_id, PLUG, "order", "driver execute")
        asked = [span for span in collector.spans if span.name == "GET /openapi"]
        assert (order.parent_id, order.links) == ("", ((trace_id, span_id),))
        assert parents_of(asked) == {""}
        assert sorted(span.links for span in asked) == [(), (), (), ((unsampled, first),)]
        assert not {trace_id, unsampled} & {span.trace_id for span in collector.spans}


class TestAClusterOfTwo:
    def test_a_command_is_one_trace_across_nats(self, tmp_path: Path, collector: Collector) -> None:
        settings = traced(collector)
        with running(start_cluster("demo", tmp_path, settings, gateways=2)) as gateway:
            assert isinstance(gateway, ClusterGateway)
            who, target = gateway.case(E1)
            token = gateway.people[who].token_for(E1)
            traces: dict[str, dict[str, list[ReceivedSpan]]] = {}
            for member in gateway.cluster.members:
                trace_id, span_id, parent = new_parent()
                api = Api(member.base_url, gateway.subscription_key)
                answer = api.send(E1, target, token=token, headers={"traceparent": parent})
                api.close()
                assert answer.status_code == 200, answer.text
                traces[trace_id] = collector.wait_for(trace_id, PLUG, "order", "driver execute")
                assert parents_of(traces[trace_id][PLUG]) == {span_id}
            (through_nats,) = [trace_id for trace_id, spans in traces.items() if "nats request" in spans]
            # Each gateway sends its spans by itself, some later than others.
            eventually(lambda: is_whole(collector.of_trace(through_nats)), "the spans of both gateways have arrived")
            remote = collector.of_trace(through_nats)
        assert parents_of(remote["nats request"]) == ids_of(remote[PLUG])
        assert parents_of(remote["nats answer"]) <= ids_of(remote["nats request"])
        assert parents_of(remote["order"]) <= ids_of(remote["nats answer"])
        (asking,) = {span.instance for span in (*remote[PLUG], *remote["nats request"])}
        (driving,) = {span.instance for name in ("nats answer", "order", "driver execute") for span in remote[name]}
        assert asking != driving


class TestACollectorThatDoesNotWork:
    @pytest.fixture(params=["dead", "silent"])
    def endpoint(self, request: pytest.FixtureRequest) -> Iterator[str]:
        """A port on which nothing listens, or a server that accepts connections and never answers."""
        if request.param == "dead":
            yield f"http://127.0.0.1:{free_port()}/v1/traces"
            return
        with socket.create_server(("127.0.0.1", 0)) as listening:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1/traces"

    def test_requests_are_answered_and_the_log_has_one_line(self, tmp_path: Path, endpoint: str) -> None:
        line = "the collector of traces does not accept spans"
        with running(start("demo", tmp_path, {"DOMOGATE_TRACE_ENDPOINT": endpoint})) as gateway:
            began = time.monotonic()
            while line not in gateway.log:
                assert gateway.api.http.get("/openapi").status_code == 200
                assert time.monotonic() < began + 120
                time.sleep(0.05)  # spans are sent every few seconds
            for _ in range(200):
                assert gateway.api.http.get("/openapi").status_code == 200
        assert gateway.log.count(line) == 1
        assert "Traceback" not in gateway.log
