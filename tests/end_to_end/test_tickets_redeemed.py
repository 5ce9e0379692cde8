"""Tickets over real HTTP: issued by E11 and E15, redeemed once without key or token, and verified offline."""

import io
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from PIL import Image

from domogate.domain.audit import AuditEntry
from domogate.domain.ids import Id
from domogate.domain.people import Standing
from domogate.domain.states import LockState
from support.gateway import QUICK, Gateway, eventually, running, start
from support.http import client
from support.ports import free_port
from support.spec_operations import E11, E15, Operation
from support.store_access import run_with_tools, simulated, standing
from support.token_forger import TokenForger

pytestmark = pytest.mark.slow

TYPE = "urn:domogate:ticket:"
DOCUMENT = Path(__file__).parents[2] / "docs" / "tickets.md"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """It logs everything. Its devices are ten times as fast as real ones."""
    loud = {"DOMOGATE_LOG_LEVEL": "debug", "DOMOGATE_ACCESS_LOG": "true"}
    settings = {**QUICK, **loud, "DOMOGATE_SIMULATOR_SPEED": "10", "DOMOGATE_METRICS_PORT": str(free_port())}
    with running(start("demo", tmp_path_factory.mktemp("tickets"), settings)) as started:
        yield started


@pytest.fixture
def sdk(gateway: Gateway) -> Iterator[httpx.Client]:
    """Without key or token."""
    with client(gateway.base_url) as bare:
        yield bare


def ask(gateway: Gateway, operation: Operation) -> tuple[str, dict[str, str]]:
    """A ticket with its user, plant and module."""
    who, target = gateway.case(operation)
    answer = gateway.send(operation, target, who=who)
    assert answer.status_code == 200, answer.text
    items = answer.json()["locks" if operation is E11 else "audiovideounits"]
    return items[0]["ticket"], {**target, "who": who}


def redeem(sdk: httpx.Client, ticket: str) -> httpx.Response:
    return sdk.post("/tickets/redeem", json={"ticket": ticket})


def reason(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["type"]).removeprefix(TYPE)


def entries(gateway: Gateway) -> list[AuditEntry]:
    records = run_with_tools(gateway, lambda tools: tools.audit.list(limit=1000))
    return [record.entry for record in records]


def noted(gateway: Gateway, jti: str) -> list[AuditEntry]:
    return [entry for entry in entries(gateway) if entry.detail.get("permit") == jti]


def is_locked(gateway: Gateway, about: dict[str, str]) -> bool:
    stored = run_with_tools(gateway, lambda tools: tools.store.find_plant(Id(about["plant"])))
    assert stored is not None
    return stored.states[Id(about["module"])].state == LockState(locked=True)


class TestALock:
    def test_opens_for_its_ticket_and_closes_again(self, gateway: Gateway, sdk: httpx.Client) -> None:
        ticket, about = ask(gateway, E11)
        answer = redeem(sdk, ticket)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert (body["plantId"], body["moduleId"]) == (about["plant"], about["module"])
        assert (body["action"], body["outcome"], body["state"]) == ("open", "confirmed", {"of": "lock", "locked": False})
        assert "picture" not in body
        assert answer.headers["cache-control"] == "no-store"
        eventually(lambda: is_locked(gateway, about), "the lock closes by itself")

    def test_opens_once_for_fifty_at_the_same_time(self, gateway: Gateway) -> None:
        ticket, _ = ask(gateway, E11)
        with ThreadPoolExecutor(50) as pool:
            clients = [client(gateway.base_url) for _ in range(50)]
            answers = list(pool.map(lambda its: redeem(its, ticket), clients))
        for its in clients:
            its.close()
        assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 49}
        assert {reason(answer, 409) for answer in answers if answer.status_code != 200} == {"used"}
        jti = jwt.decode(ticket, options={"verify_signature": False})["jti"]
        # The repeats of the refusal are counted, and have one entry after a minute.
        eventually(lambda: len(noted(gateway, jti)) == 2, "an entry of the audit log for the success and for the refusal")
        assert Counter(entry.result for entry in noted(gateway, jti)) == {"ok": 1, "refused": 1}

    def test_stays_shut_once_the_owner_has_withdrawn_the_right(self, gateway: Gateway, sdk: httpx.Client) -> None:
        plant = next(plant for plant in gateway.estate.plants if plant.modules("lock") and plant.people - {plant.owner})
        guest = next(mail for mail in sorted(plant.people - {plant.owner}) if mail in gateway.good_people)
        lock = plant.modules("lock")[0]["id"]
        tickets = []
        for _ in range(5):
            answer = gateway.send(E11, {"plant": plant.id, "module": lock}, who=guest)
            tickets.append(answer.json()["locks"][0]["ticket"])
        assert redeem(sdk, tickets[0]).status_code == 200
        gateway.domogate("plant", "withdraw", plant.id, guest)
        try:
            assert {reason(redeem(sdk, ticket), 403) for ticket in tickets[1:]} == {"right-withdrawn"}
        finally:
            gateway.domogate("plant", "allow", plant.id, guest)
        assert redeem(sdk, tickets[1]).status_code == 200

    def test_stays_shut_for_a_ticket_that_was_changed_or_is_none(self, gateway: Gateway, sdk: httpx.Client) -> None:
        ticket, about = ask(gateway, E11)
        forge, person = TokenForger(gateway), gateway.people[about["who"]]
        past = int(time.time()) - 1
        assert reason(redeem(sdk, forge.resign(ticket, {"exp": past, "iat": past - 60})), 401) == "expired"
        head, body, signature = ticket.split(".")
        for shown in (person.id_token, person.access_token, f"{head}.{body}.", f"{head}.{body[:-2]}AA.{signature}"):
            assert reason(redeem(sdk, shown), 401) == "invalid"
        assert gateway.send(E11, {"plant": about["plant"], "module": about["module"]}, token=ticket).status_code == 401

    @pytest.mark.parametrize(
        ("how", "status", "expected"),
        [("offline", 503, "device-offline"), ("slow", 504, "device-timeout"), ("refusing", 502, "device-refused")],
    )
    def test_that_does_not_obey_is_told_as_it_is(
        self, gateway: Gateway, sdk: httpx.Client, how: str, status: int, expected: str
    ) -> None:
        ticket, about = ask(gateway, E11)
        with simulated(gateway, about["module"], how):
            assert reason(redeem(sdk, ticket), status) == expected
        assert reason(redeem(sdk, ticket), 409) == "used"

    def test_wants_its_user_in_good_standing(self, gateway: Gateway, sdk: httpx.Client) -> None:
        ticket, about = ask(gateway, E11)
        with standing(gateway, about["who"], Standing.PASSWORD_EXPIRED):
            assert reason(redeem(sdk, ticket), 469) == "password-to-renew"
        with standing(gateway, about["who"], Standing.TERMS_EXPIRED):
            assert reason(redeem(sdk, ticket), 470) == "terms-to-accept"


class TestACamera:
    def test_is_on_for_its_time_gives_pictures_and_goes_off(self, gateway: Gateway, sdk: httpx.Client) -> None:
        ticket, _ = ask(gateway, E15)
        answer = redeem(sdk, ticket)
        assert answer.status_code == 200, answer.text
        assert answer.json()["state"] == {"of": "camera", "on": True}
        offered = answer.json()["picture"]
        assert offered["url"] == f"{gateway.base_url}/tickets/picture"
        bearer = {"authorization": f"Bearer {offered['token']}"}
        picture = sdk.get(offered["url"], headers=bearer)
        assert picture.status_code == 200, picture.text
        assert picture.headers["cache-control"] == "no-store"
        with Image.open(io.BytesIO(picture.content)) as decoded:
            decoded.load()
            assert decoded.format == picture.headers["content-type"].removeprefix("image/").upper() == "PNG"
        assert sdk.head(offered["url"], headers=bearer).status_code == 200
        # Simulated time is ten times as fast: it is off after six seconds, long before the permission is over.
        eventually(lambda: sdk.get(offered["url"], headers=bearer).status_code == 410, "the camera goes off by itself")
        assert reason(sdk.get(offered["url"], headers=bearer), 410) == "camera-off"


class TestTheDocumentedDoorStation:
    """The example of docs/tickets.md, unchanged, with the key set of this gateway."""

    @pytest.fixture
    def station(self, gateway: Gateway) -> Any:
        block = re.search(r"^```python\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
        assert block is not None
        module: dict[str, Any] = {}
        exec(compile(block[1], str(DOCUMENT), "exec"), module)
        _, about = ask(gateway, E11)
        station = module["DoorStation"](gateway.auth_url, about["plant"], about["module"])
        station.take_keys(gateway.api.http.get(f"{gateway.auth_url}/jwks").json())
        return station

    def test_opens_once_for_a_ticket_of_its_lock(self, gateway: Gateway, station: Any) -> None:
        ticket, _ = ask(gateway, E11)
        assert station.may_open(ticket) is True
        assert station.may_open(ticket) is False
        assert station.may_open(ask(gateway, E11)[0]) is True

    def test_refuses_everything_else(self, gateway: Gateway, station: Any) -> None:
        ticket, about = ask(gateway, E11)
        forge, person, now = TokenForger(gateway), gateway.people[about["who"]], int(time.time())
        assert station.may_open(forge.resign(ticket)) is True, "otherwise the refusals below would prove nothing"
        for claims in (
            {"exp": now - 10, "iat": now - 70},
            {"iat": now + 60, "exp": now + 120},
            {"exp": now + 3600},
            {"module": about["plant"]},
            {"plant": about["module"]},
            {"action": "videoOut"},
            {"aud": gateway.auth_url},
            {"iss": "https://other.example/auth"},
            {"jti": None},
        ):
            assert station.may_open(forge.resign(ticket, {"jti": f"{claims}", **claims})) is False, claims
        head, body, signature = forge.resign(ticket, {"jti": "another"}).split(".")
        none = forge.resign(ticket, {"jti": "none"}, {"alg": "none"}).rsplit(".", 1)[0]
        for shown in (
            ask(gateway, E15)[0],
            person.id_token,
            person.access_token,
            forge.resign(ticket, {"jti": "typ"}, {"typ": "JWT"}),
            f"{head}.{body}.{signature[:-4]}AAAA",
            f"{none}.",
            "",
            "nonsense",
        ):
            assert station.may_open(shown) is False, shown

    def test_refuses_what_a_key_signed_that_it_never_fetched(self, gateway: Gateway, station: Any) -> None:
        ticket, _ = ask(gateway, E11)
        known = station.keys
        station.keys = {}
        assert station.may_open(ticket) is False
        station.keys = known
        assert station.may_open(ticket) is True


class TestWhatIsLeftBehind:
    """Last in this file, so that the other tests have used this gateway, if they run in the same process."""

    def test_the_audit_log_verifies_and_names_nobody(self, gateway: Gateway, sdk: httpx.Client) -> None:
        assert redeem(sdk, ask(gateway, E11)[0]).status_code == 200
        eventually(lambda: "user:" in str(entries(gateway)), "the audit log has the ticket")
        gateway.domogate("audit", "verify")
        said = str(entries(gateway))
        assert not any(person in said for person in gateway.people)

    def test_no_ticket_and_no_token_is_in_the_log_or_the_audit_log(self, gateway: Gateway, sdk: httpx.Client) -> None:
        ticket, _ = ask(gateway, E15)
        token = redeem(sdk, ticket).json()["picture"]["token"]
        sdk.get(f"/tickets/picture?token={token}", headers={"authorization": f"Bearer {token}"})
        sdk.post(f"/tickets/redeem?ticket={ticket}", content=ticket)
        redeem(sdk, ticket)
        eventually(lambda: "/tickets/redeem" in gateway.log, "the log has the request")
        said = gateway.log + str(entries(gateway))
        for secret in (ticket, token):
            assert secret.split(".")[2] not in said
            assert secret.split(".")[1] not in said

    def test_the_metrics_count_by_outcome(self, gateway: Gateway, sdk: httpx.Client) -> None:
        ticket, _ = ask(gateway, E15)
        token = redeem(sdk, ticket).json()["picture"]["token"]
        redeem(sdk, ticket)
        redeem(sdk, "no ticket")
        sdk.get("/tickets/picture", headers={"authorization": f"Bearer {token}"})
        with client(f"http://127.0.0.1:{gateway.environment['DOMOGATE_METRICS_PORT']}") as metrics:
            shown = metrics.get("/metrics").text
        for what, outcome in (("redeem", "done"), ("redeem", "used"), ("redeem", "invalid"), ("picture", "done")):
            line = next(line for line in shown.splitlines() if f'{{outcome="{outcome}",what="{what}"}}' in line)
            assert line.startswith("domogate_tickets_total{")
            assert float(line.rsplit(" ", 1)[1]) >= 1
