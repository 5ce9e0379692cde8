"""Events of a real gateway over real HTTP, read by an independent client library."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from domogate.domain.people import Standing
from support.gateway import Gateway, start
from support.http import PATIENCE
from support.spec_operations import E1, E8
from support.store_access import issue_key, issue_token, revoke_key, run_with_tools, standing
from support.stream_reader import StreamReader, data_of, open_stream

pytestmark = pytest.mark.slow


class TestALivingHouse:
    def test_is_shown_within_seconds(self, workshop: Gateway) -> None:
        """As in the README, with devices that change more often."""
        person = workshop.people[workshop.anyone]
        with open_stream(workshop, person.access_token) as reader:
            event = reader.wait_for(lambda event: event.event in ("state", "reachability"))
        assert data_of(event)["moduleId"]

    def test_tells_an_order_that_another_application_gave(self, workshop: Gateway) -> None:
        who, target = workshop.case(E1)
        person = workshop.people[who]
        with open_stream(workshop, person.id_token, query=f"?plant={target['plant']}&kind=state") as reader:
            states = workshop.plug_states(workshop.estate.plant(target["plant"]))
            answer = workshop.send(E1, target, who=who)
            assert answer.status_code == 200
            event = reader.wait_for(lambda event: data_of(event)["kind"] == "plug")
        assert data_of(event)["plantId"] == target["plant"]
        assert data_of(event)["moduleId"] in states

    def test_says_what_the_operation_says(self, demo: Gateway) -> None:
        who, target = demo.case(E8)
        reader = StreamReader(demo, demo.people[who].access_token, query=f"?plant={target['plant']}&present=true&kind=state")
        event = reader.wait_for(lambda event: event.event == "present" and data_of(event)["moduleId"] == target["module"])
        reader.close()
        light = demo.send(E8, target, who=who).json()["lights"][0]
        assert data_of(event)["state"]["on"] is (light["status"] == "on")


class TestAtOnce:
    """Changes that end a stream of a real gateway. Another process makes each change, as an operator would."""

    def test_a_revoked_key(self, workshop: Gateway) -> None:
        key = issue_key(workshop)
        with open_stream(workshop, workshop.people[workshop.anyone].access_token, key=key) as reader:
            revoke_key(workshop, key)
            assert json.loads(reader.wait_named("end").data)["code"] == "key"
            reader.wait_over()

    def test_a_key_that_expires(self, workshop: Gateway) -> None:
        token = workshop.people[workshop.anyone].access_token
        for life in (1.5, 10.0, 50.0):  # a busy machine may take longer to connect than a key lives
            reader = StreamReader(workshop, token, key=issue_key(workshop, life=life))
            if reader.is_let_in():
                break
        assert json.loads(reader.wait_named("end").data)["code"] == "key"
        reader.wait_over()

    def test_a_standing_that_is_not_good_any_more(self, workshop: Gateway) -> None:
        who = workshop.anyone
        with (
            open_stream(workshop, workshop.people[who].access_token) as reader,
            standing(workshop, who, Standing.TERMS_EXPIRED),
        ):
            assert json.loads(reader.wait_named("end").data)["code"] == "terms"

    def test_a_revoked_grant(self, workshop: Gateway) -> None:
        who = workshop.anyone
        token = issue_token(workshop, who, "access", ("topology.read", "light.read"))

        async def revoke(tools: Any) -> None:
            user = await tools.store.find_user_by_email(who)
            [grant] = [g for g in await tools.store.list_grants(user.id) if g.scopes == ("topology.read", "light.read")]
            assert await tools.store.revoke_grant(grant.id, tools.clock.now())

        with open_stream(workshop, token) as reader:
            run_with_tools(workshop, revoke)
            assert json.loads(reader.wait_named("end").data)["code"] == "token"
            reader.wait_over()
        workshop.minted.clear()

    def test_a_right_that_is_withdrawn(self, workshop: Gateway) -> None:
        plant = workshop.estate.find_plants(lambda plant: plant.owner in workshop.good_people)[0]
        guest = workshop.a_stranger_to(plant)

        async def change(tools: Any, method: str) -> None:
            user = await tools.store.find_user_by_email(guest)
            assert await getattr(tools.store, method)(plant.id, user.id)

        run_with_tools(workshop, lambda tools: change(tools, "allow_user"))
        with open_stream(workshop, workshop.people[guest].access_token, query=f"?plant={plant.id}") as reader:
            run_with_tools(workshop, lambda tools: change(tools, "withdraw_user"))
            assert json.loads(reader.wait_named("end").data)["code"] == "plant"
            reader.wait_over()


class TestADrain:
    def test_is_not_held_up_by_streams(self, tmp_path: Path) -> None:
        gateway = start("demo", tmp_path, {"DOMOGATE_DRAIN": str(4 * PATIENCE)})
        try:
            token = gateway.people[gateway.anyone].access_token
            readers = [StreamReader(gateway, token) for _ in range(20)]
            for reader in readers:
                reader.wait_named("ready")
            gateway.process.send_signal(signal.SIGTERM)
            for reader in readers:
                assert json.loads(reader.wait_named("end").data)["code"] == "draining"
                reader.wait_over()
                reader.close()
            assert (
                gateway.process.wait(PATIENCE) == 0
            )  # a part of the time that a drain may take: the drain did not wait for the streams
        finally:
            gateway.stop()
