"""Events of a real gateway over real HTTP, read by an independent client library."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource, ServerSentEvent, connect_sse

from domogate.domain.people import Standing
from support.backstage import backstage, issue_key, issue_token, revoke_key, standing
from support.gateway import Gateway, start
from support.http import KEY_HEADER, PATIENCE
from support.spec_operations import E1, E8

pytestmark = pytest.mark.slow


class Ear:
    """Reads on its own thread."""

    def __init__(self, gateway: Gateway, token: str, *, query: str = "", key: str = "", last: str | None = None) -> None:
        headers = {KEY_HEADER: key or gateway.subscription_key, "Authorization": f"Bearer {token}"}
        if last is not None:
            headers["Last-Event-ID"] = last
        self._http = httpx.Client(base_url=gateway.base_url, trust_env=False, verify=False, timeout=PATIENCE)
        self._ask: Callable[[], AbstractContextManager[EventSource]] = lambda: connect_sse(
            self._http, "GET", f"/events{query}", headers=headers
        )
        self._leaving = False
        self._heard: Queue[ServerSentEvent | None] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with self._http, suppress(httpx.HTTPError), self._ask() as source:
            for event in source.iter_sse():
                self._heard.put(event)
                if self._leaving:
                    return
        self._heard.put(None)

    def wait_for(self, wanted: Callable[[ServerSentEvent], bool]) -> ServerSentEvent:
        """The next event of this kind; others are skipped."""
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                event = self._heard.get(timeout=max(0.0, give_up - time.monotonic()))
            except Empty:
                raise AssertionError("waited in vain for an event") from None
            assert event is not None, "the stream was over before"
            if wanted(event):
                return event

    def is_let_in(self) -> bool:
        """Whether any event arrives."""
        event = self._heard.get(timeout=PATIENCE)
        assert event is None or event.event == "ready"
        return event is not None

    def wait_named(self, name: str) -> ServerSentEvent:
        return self.wait_for(lambda event: event.event == name)

    def wait_over(self) -> None:
        assert self._heard.get(timeout=PATIENCE) is None

    def close(self) -> None:
        """The thread ends at the next event; the test does not wait for it."""
        self._leaving = True


@contextmanager
def listening(gateway: Gateway, token: str, **how: Any) -> Iterator[Ear]:
    ear = Ear(gateway, token, **how)
    try:
        ear.wait_named("ready")
        yield ear
    finally:
        ear.close()


def about(event: ServerSentEvent) -> dict[str, Any]:
    return dict(json.loads(event.data)["data"])


class TestALivingHouse:
    def test_is_shown_within_seconds(self, workshop: Gateway) -> None:
        """As in the README, with devices that change more often."""
        person = workshop.people[workshop.anyone]
        with listening(workshop, person.access_token) as ear:
            event = ear.wait_for(lambda event: event.event in ("state", "reachability"))
        assert about(event)["moduleId"]

    def test_tells_an_order_that_another_application_gave(self, workshop: Gateway) -> None:
        who, target = workshop.case(E1)
        person = workshop.people[who]
        with listening(workshop, person.id_token, query=f"?plant={target['plant']}&kind=state") as ear:
            states = workshop.plug_states(workshop.estate.plant(target["plant"]))
            answer = workshop.send(E1, target, who=who)
            assert answer.status_code == 200
            event = ear.wait_for(lambda event: about(event)["kind"] == "plug")
        assert about(event)["plantId"] == target["plant"]
        assert about(event)["moduleId"] in states

    def test_says_what_the_operation_says(self, demo: Gateway) -> None:
        who, target = demo.case(E8)
        ear = Ear(demo, demo.people[who].access_token, query=f"?plant={target['plant']}&present=true&kind=state")
        event = ear.wait_for(lambda event: event.event == "present" and about(event)["moduleId"] == target["module"])
        ear.close()
        light = demo.send(E8, target, who=who).json()["lights"][0]
        assert about(event)["state"]["on"] is (light["status"] == "on")


class TestAtOnce:
    """What ends a stream of a real gateway. Another process makes each change, as an operator would."""

    def test_a_revoked_key(self, workshop: Gateway) -> None:
        key = issue_key(workshop)
        with listening(workshop, workshop.people[workshop.anyone].access_token, key=key) as ear:
            revoke_key(workshop, key)
            assert json.loads(ear.wait_named("end").data)["code"] == "key"
            ear.wait_over()

    def test_a_key_that_expires(self, workshop: Gateway) -> None:
        token = workshop.people[workshop.anyone].access_token
        for life in (1.5, 10.0, 50.0):  # a busy machine may take longer to connect than a key lives
            ear = Ear(workshop, token, key=issue_key(workshop, life=life))
            if ear.is_let_in():
                break
        assert json.loads(ear.wait_named("end").data)["code"] == "key"
        ear.wait_over()

    def test_a_standing_that_is_not_good_any_more(self, workshop: Gateway) -> None:
        who = workshop.anyone
        with (
            listening(workshop, workshop.people[who].access_token) as ear,
            standing(workshop, who, Standing.TERMS_EXPIRED),
        ):
            assert json.loads(ear.wait_named("end").data)["code"] == "terms"

    def test_a_revoked_grant(self, workshop: Gateway) -> None:
        who = workshop.anyone
        token = issue_token(workshop, who, "access", ("topology.read", "light.read"))

        async def revoke(tools: Any) -> None:
            user = await tools.store.find_user_by_email(who)
            [grant] = [g for g in await tools.store.list_grants(user.id) if g.scopes == ("topology.read", "light.read")]
            assert await tools.store.revoke_grant(grant.id, tools.clock.now())

        with listening(workshop, token) as ear:
            backstage(workshop, revoke)
            assert json.loads(ear.wait_named("end").data)["code"] == "token"
            ear.wait_over()
        workshop.minted.clear()

    def test_a_right_that_is_withdrawn(self, workshop: Gateway) -> None:
        plant = workshop.estate.find_plants(lambda plant: plant.owner in workshop.good_people)[0]
        guest = workshop.a_stranger_to(plant)

        async def change(tools: Any, method: str) -> None:
            user = await tools.store.find_user_by_email(guest)
            assert await getattr(tools.store, method)(plant.id, user.id)

        backstage(workshop, lambda tools: change(tools, "allow_user"))
        with listening(workshop, workshop.people[guest].access_token, query=f"?plant={plant.id}") as ear:
            backstage(workshop, lambda tools: change(tools, "withdraw_user"))
            assert json.loads(ear.wait_named("end").data)["code"] == "plant"
            ear.wait_over()


class TestADrain:
    def test_is_not_held_up_by_streams(self, tmp_path: Path) -> None:
        gateway = start("demo", tmp_path, {"DOMOGATE_DRAIN": str(4 * PATIENCE)})
        try:
            token = gateway.people[gateway.anyone].access_token
            ears = [Ear(gateway, token) for _ in range(20)]
            for ear in ears:
                ear.wait_named("ready")
            gateway.process.send_signal(signal.SIGTERM)
            for ear in ears:
                assert json.loads(ear.wait_named("end").data)["code"] == "draining"
                ear.wait_over()
                ear.close()
            assert gateway.process.wait(PATIENCE) == 0  # a part of what a drain may take: nobody waited for the streams
        finally:
            gateway.stop()
