"""Everything that families, webhooks, tickets and the safety logbook accept can be read by every surface, command and export.

tests/management/test_accepted_is_readable.py does the same for users, keys, clients, faults and invitations.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from domogate.domain.ids import new_id
from support.examples import examples
from support.extension_operations import X1, X2, X6, X7
from support.gateway import QUICK, Gateway, run_command, running, serve_estate
from support.http import KEY_HEADER
from support.spec_operations import ALL_SCOPES, E5, E7, E8, E11, E12, E18, Operation
from support.store_access import add_credentials
from support.stream_reader import StreamReader

pytestmark = pytest.mark.slow

KEY = "key-of-all-that-is-accepted"
OWNER = "owner@example.com"
SITE, LIGHT, SCENE, LOCK, UNIT, CONTROLLER, EAST, WEST = (str(new_id()) for _ in range(8))
LAST = "9999-12-31T23:59:59"
Record = tuple[str, Any]


def thermostat(identity: str, utc_offset: str) -> dict[str, Any]:
    state = {
        "function": "heating",
        "mode": "automatic",
        "setPoint": 20,
        "program": 0,
        "loadActive": False,
        "utcOffset": utc_offset,
    }
    record = {"id": identity, "name": utc_offset, "kind": "chronothermostat", "driver": "simulator", "state": state}
    return {**record, "programs": [{"number": 0, "name": "Comfort"}]}


def estate() -> dict[str, Any]:
    controller = {
        "id": CONTROLLER,
        "name": "Controller",
        "kind": "emergency controller",
        "driver": "simulator",
        "reference": "c-1",
    }
    return {
        "users": [{"email": OWNER, "password": "a good long password", "operator": True}],
        "subscriptions": [{"name": "all", "key": KEY}],
        "clients": [{"id": "app", "name": "App", "scopes": [*ALL_SCOPES, "gateway.manage"]}],
        "plants": [
            {
                "id": SITE,
                "name": "Site",
                "type": "hotel",
                "owner": OWNER,
                "modules": [
                    {"id": LIGHT, "name": "Light", "kind": "light", "driver": "simulator"},
                    {"id": LOCK, "name": "Lock", "kind": "lock", "driver": "simulator"},
                    {
                        "id": SCENE,
                        "name": "Scene",
                        "kind": "scene",
                        "steps": [{"module": LIGHT, "do": "set light", "on": True}],
                    },
                    {**controller, "units": [{"id": UNIT, "reference": "u-1"}]},
                    thermostat(EAST, "+14:00"),
                    thermostat(WEST, "-12:00"),
                ],
            }
        ],
    }


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    patient = {"DOMOGATE_STATE_MAX_AGE": "3600", "DOMOGATE_DEVICE_DEADLINE": "30"}  # a busy machine is not a failing device
    settings = {**QUICK, **patient, "DOMOGATE_WEBHOOK_NETWORKS": "127.0.0.0/8"}
    with running(serve_estate(estate(), tmp_path_factory.mktemp("accepted"), settings)) as started:
        yield add_credentials(started, KEY)


_texts = st.text(st.characters(), min_size=1, max_size=12)
_numbers = st.integers(-5, 400) | st.floats() | st.sampled_from([0, 1, 50, 99.5, 100, 1e300])
_times = st.builds(
    lambda moment, zone: moment.isoformat(timespec="seconds") + zone,
    st.datetimes(),
    st.sampled_from(["", "Z", "+14:00", "-12:00", "-00:01", "+23:59"]),
) | st.sampled_from([LAST, f"{LAST}Z", f"{LAST}-12:00", f"{LAST}+14:00", "0001-01-01T00:00:00+14:00"])
_urls = st.sampled_from(
    ["http://127.0.0.1:9/x", "http://127.0.0.1:9/\u00e9?a=%00#b", "http://[::ffff:127.0.0.1]:9/"]
) | st.builds("http://127.0.0.1:9/{}".format, _texts)
_records: st.SearchStrategy[list[Record]] = st.lists(
    st.one_of(
        st.tuples(
            st.just("light"),
            st.fixed_dictionaries(
                {},
                optional={
                    "status": st.sampled_from(["on", "off"]) | _texts,
                    "level": _numbers,
                    "colorHSV": st.fixed_dictionaries({"H": _numbers, "S": _numbers, "V": _numbers}),
                },
            ),
        ),
        st.tuples(
            st.sampled_from(["east", "west"]),
            st.fixed_dictionaries(
                {},
                optional={
                    "mode": st.sampled_from(["automatic", "manual", "boost", "off", "protection"]) | _texts,
                    "setPoint": st.fixed_dictionaries({"value": _numbers | st.just("20.5"), "unit": st.sampled_from("CF")}),
                    "programs": st.lists(st.fixed_dictionaries({"number": _numbers}), max_size=1),
                    "activationTime": _times | st.tuples(_times, _times).map("/".join),
                },
            ),
        ),
        st.tuples(st.just("scene"), st.fixed_dictionaries({"status": st.just("run") | _texts})),
        st.tuples(st.just("subscription"), st.fixed_dictionaries({"EndPointUrl": _urls})),
        st.tuples(
            st.just("webhook"),
            st.fixed_dictionaries(
                {"plantId": st.just(SITE), "url": _urls},
                optional={"kinds": st.lists(st.sampled_from(["state", "plant", "people", "safety"]), max_size=3)},
            ),
        ),
        st.tuples(
            st.just("logbook"),
            st.fixed_dictionaries(
                {"kind": st.sampled_from(["note", "visit", "repair"]), "by": _texts, "words": _texts},
                optional={"moduleId": st.sampled_from([UNIT, CONTROLLER, LIGHT]) | _texts, "at": _times},
            ),
        ),
        st.tuples(st.just("ticket"), st.just("a valid one") | _texts),
        st.tuples(
            st.just("command"),
            st.fixed_dictionaries(
                {"do": st.just("set thermostat"), "mode": st.just("manual")}, optional={"activationTime": _times}
            ),
        ),
    ),
    min_size=1,
    max_size=6,
)


class Caller:
    """Posts records to the gateway, and reads everything back."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.person = gateway.people[OWNER]
        self.post: dict[str, Callable[[Any], httpx.Response]] = {
            "light": lambda body: self.call(X2, LIGHT, body),
            "east": lambda body: self.call(X1, EAST, body),
            "west": lambda body: self.call(X1, WEST, body),
            "scene": lambda body: self.call(E5, SCENE, body),
            "subscription": lambda body: self.call(X6, SITE, body),
            "webhook": lambda body: self.request("POST", "/webhooks", body),
            "logbook": lambda body: self.request("POST", f"/manage/v1/plants/{SITE}/logbook", body),
            "ticket": self.redeem,
            "command": lambda body: self.request("POST", f"/manage/v1/plants/{SITE}/modules/{WEST}/commands", body),
        }

    def call(self, operation: Operation, module: str = "", body: Any = None) -> httpx.Response:
        content = None if body is None else json.dumps(body).encode()
        return self.gateway.send(operation, {"plant": SITE, "module": module}, who=OWNER, body=content)

    def request(self, method: str, path: str, body: Any = None) -> httpx.Response:
        token = self.person.access_token if path.startswith("/manage") else self.person.id_token
        headers = {KEY_HEADER: KEY, "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        return self.gateway.api.http.request(method, path, headers=headers, content=content)

    def redeem(self, ticket: str) -> httpx.Response:
        if ticket == "a valid one":
            ticket = self.call(E11, LOCK).json()["locks"][0]["ticket"]
        return self.request("POST", "/tickets/redeem", {"ticket": ticket})

    def read_everything(self) -> None:
        """Every answer is complete, and JSON where it is not a report."""
        for operation, module in ((E7, ""), (E8, LIGHT), (E12, EAST), (E12, WEST), (E18, "")):
            assert self.call(operation, module).json()
        assert self.call(X7).status_code in (200, 204)
        of_site = ("", "/modules", "/safety", "/logbook", "/faults", "/spare-parts-order", f"/modules/{WEST}/readings")
        for path in ("/orders", "/webhooks", "/audit?limit=200", *(f"/plants/{SITE}{part}" for part in of_site)):
            answer = self.request("GET", f"/manage/v1{path}")
            assert answer.status_code == 200, f"{path}: {answer.text}"
            assert answer.json() is not None
        for webhook in self.request("GET", "/webhooks").json()["items"]:
            assert self.request("GET", f"/webhooks/{webhook['id']}").json() == webhook
            assert self.request("DELETE", f"/webhooks/{webhook['id']}").status_code == 204
        reader = StreamReader(self.gateway, self.person.access_token, query=f"?plant={SITE}&present=true", last="0")
        reader.wait_for(lambda event: bool(json.loads(event.data)) and event.event == "ready")
        reader.close()


@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
@example(records=[("east", {"mode": "boost", "activationTime": LAST}), ("west", {"mode": "manual", "activationTime": LAST})])
@example(records=[("logbook", {"kind": "note", "by": "x", "words": "=1+1", "at": "0001-01-01T00:00:00+14:00"})])
@example(records=[("logbook", {"kind": "visit", "by": "\u202e", "words": "\n\x00\x85\u2028"}), ("ticket", "a valid one")])
@given(records=_records)
def _check_over_http(caller: Caller, records: list[Record]) -> None:
    for name, body in records:
        answer = caller.post[name](body)
        assert answer.status_code < 500, f"{name} {body!r}: {answer.status_code} {answer.text}"
    caller.read_everything()


def test_what_is_accepted_can_be_read_back(gateway: Gateway, tmp_path: Path) -> None:
    _check_over_http(Caller(gateway))
    for arguments in (
        ("order", "list"), ("webhook", "list"), ("module", "list", SITE), ("audit", "list", "--limit", "100000"),
        ("audit", "verify"), ("safety", "logbook", SITE), ("safety", "schedule", SITE), ("readings", "export", "--plant", SITE),
        ("safety", "report", SITE, "--out", str(tmp_path / "report.pdf")),
        ("safety", "report", SITE, "--format", "csv", "--out", str(tmp_path / "report")),
    ):  # fmt: skip
        gateway.domogate(*arguments)
    exported = gateway.domogate("estate", "export")
    file = tmp_path / "estate.yaml"
    file.write_text(exported)
    done = run_command(["estate", "import", str(file), "--data", str(tmp_path / "second")], gateway.environment)
    assert done.returncode == 0, done.stderr
