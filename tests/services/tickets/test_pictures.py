"""Pictures are given to the user who switched the camera on, while it is on and the rights hold."""

import io

import msgspec
import pytest
from PIL import Image

from domogate.domain.injections import InjectedFault
from domogate.domain.people import Standing
from domogate.domain.plants import PlantStatus
from domogate.domain.states import CameraState
from domogate.services.audit import AuditAction
from domogate.services.tickets.permits import TicketAction
from support.ticket_setup import BASE_URL, GUEST, HOUSE, PANEL, TicketSetup, problem_type

pytestmark = pytest.mark.slow


class TestATicketForACamera:
    async def test_switches_it_on_and_says_where_its_pictures_are(self, setup: TicketSetup) -> None:
        answer = await setup.redeem(await setup.mint(TicketAction.VIDEO_OUT))
        assert answer.status_code == 200
        body = answer.json()
        assert (body["action"], body["outcome"], body["state"]) == ("videoOut", "confirmed", {"of": "camera", "on": True})
        assert body["picture"].keys() == {"url", "token", "expiresAt"}
        assert body["picture"]["url"] == f"{BASE_URL}/tickets/picture"
        assert body["picture"]["token"] not in body["picture"]["url"]
        assert await setup.state_of(PANEL) == CameraState(on=True)


class TestAPicture:
    async def test_is_one_that_can_be_seen_and_is_never_stored(self, setup: TicketSetup) -> None:
        answer = await setup.look(await setup.switch_on())
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert len(answer.content) < 30_000
        with Image.open(io.BytesIO(answer.content)) as picture:
            picture.load()
            assert picture.size == (320, 240)

    async def test_is_another_one_a_second_later(self, setup: TicketSetup) -> None:
        token = await setup.switch_on()
        first = await setup.look(token)
        setup.clock.at += 1.0
        assert (await setup.look(token)).content != first.content

    async def test_is_410_once_the_camera_is_off_and_401_once_the_permission_is_over(self, setup: TicketSetup) -> None:
        setup.clock.at += 0.5  # its end is in whole seconds: the camera is on a little longer
        token = await setup.switch_on()
        setup.clock.at += 59.4
        assert (await setup.look(token)).status_code == 200
        setup.clock.at += 0.2
        assert problem_type(await setup.look(token), 401) == "expired"
        setup.clock.at += 10.0
        later = await setup.forge(token, {"exp": int(setup.clock.now()) + 60})
        assert problem_type(await setup.look(later), 410) == "camera-off"

    async def test_every_request_asks_whether_it_is_still_right(self, setup: TicketSetup) -> None:
        guest = await setup.grant_access(GUEST)
        token = await setup.switch_on(guest)
        assert (await setup.look(token)).status_code == 200
        await setup.store.save_user(msgspec.structs.replace(GUEST, standing=Standing.TERMS_EXPIRED))
        assert problem_type(await setup.look(token), 470) == "terms-to-accept"
        await setup.store.save_user(GUEST)
        await setup.store.withdraw_user(HOUSE.id, GUEST.id)
        assert problem_type(await setup.look(token), 403) == "right-withdrawn"
        await setup.store.allow_user(HOUSE.id, GUEST.id)
        assert (await setup.look(token)).status_code == 200
        await setup.store.revoke_grant(guest.grant_id, setup.clock.now())
        assert problem_type(await setup.look(token), 403) == "right-withdrawn"
        await setup.store.set_plant_status(HOUSE.id, PlantStatus.REMOVED, setup.clock.now())
        assert problem_type(await setup.look(await _token_of_the_owner(setup)), 404) == "no-such-device"

    @pytest.mark.parametrize(
        ("fault", "status", "reason"),
        [(InjectedFault.OFFLINE, 503, "device-offline"), (InjectedFault.SLOW, 504, "device-timeout")],
    )
    async def test_of_a_camera_that_cannot_be_asked(
        self, setup: TicketSetup, fault: InjectedFault, status: int, reason: str
    ) -> None:
        token = await setup.switch_on()
        await setup.inject(fault, PANEL)
        if fault is InjectedFault.SLOW:
            setup.set_deadline(1.0)
        assert problem_type(await setup.look(token), status) == reason

    async def test_a_camera_that_obeys_nothing_can_still_be_looked_through(self, setup: TicketSetup) -> None:
        token = await setup.switch_on()
        await setup.inject(InjectedFault.REFUSING, PANEL)
        assert (await setup.look(token)).status_code == 200

    async def test_the_first_under_each_permission_is_noted_and_refusals_are(self, setup: TicketSetup) -> None:
        tokens = [await setup.switch_on() for _ in range(2)]
        for token in (*tokens, *tokens, "nonsense"):
            await setup.look(token)
        noted = [entry for entry in await setup.entries() if entry.action == AuditAction.PICTURE_TAKEN]
        assert [entry.result for entry in noted] == ["ok", "ok", "refused"]
        assert noted[0].what == f"videoOut module:{PANEL.id}"
        assert noted[2].who == "nobody"


async def _token_of_the_owner(setup: TicketSetup) -> str:
    """A token as it was made before the plant was removed."""
    ticket = await setup.mint(TicketAction.VIDEO_OUT)
    return await setup.forge(ticket, {"aud": f"{BASE_URL}/auth/pictures"}, {"typ": "picture+jwt"})
