"""A state machine of users, plants and changing rights: nobody sees data of a plant without rights on it.

The gateway is a real process. This process changes rights in the same store, and they count from the next request.
Every name in a plant contains the plant's mark, so that a leak shows in any operation.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from domogate.app import Tools, open_tools
from domogate.domain.ids import Id
from domogate.domain.plants import PlantStatus
from domogate.estate import build_estate, read_estate
from domogate.settings import Settings
from support.estate_view import EstateView, targets_in
from support.examples import examples
from support.gateway import Gateway, running, serve_estate
from support.http import PATIENCE, expect_nothing, expect_ok, expect_refusal
from support.spec_operations import ABOUT_A_PLANT, ALL_SCOPES, E6, E7, LISTS, Operation, not_found, not_your_plant
from support.store_access import add_credentials
from support.token_forger import claims_of

pytestmark = pytest.mark.slow

T = TypeVar("T")
KEY = "rights-machine-only-0123456789"
USERS = ("ada@example.com", "ben@example.com", "cleo@example.com", "dan@example.com")
LATE = "eve@example.com"
"""Not active yet: invitations to her become memberships when she sets a password."""
PLANTS = (0, 1, 2)


def plant_id(number: int) -> str:
    return f"{number:08d}-0000-4000-8000-000000000000"


def mark(number: int) -> str:
    """A word that every name in the plant contains."""
    return ("Marigold", "Nightjar", "Ocelot")[number]


def module_id(number: int, nth: int) -> str:
    return f"{number:08d}-0000-4000-8000-{nth:012d}"


WANDERER = "99999999-0000-4000-8000-000000000001"
"""A lamp that moves between plants."""
KINDS = ("light", "plug", "remote", "lock", "audiovideo unit", "chronothermostat", "gateway", "automation")


def plant_record(number: int) -> dict[str, Any]:
    modules = [
        {"id": module_id(number, nth), "name": f"{mark(number)} {kind}", "kind": kind} for nth, kind in enumerate(KINDS, 1)
    ]
    controller = {
        "id": module_id(number, 50),
        "name": f"{mark(number)} controller",
        "kind": "emergency controller",
        "reference": f"{mark(number)}-c",
        "units": [{"id": module_id(number, 51), "reference": f"{mark(number)}-u"}],
    }
    scene = {"id": module_id(number, 60), "name": f"{mark(number)} scene", "kind": "scene", "steps": []}
    return {
        "id": plant_id(number),
        "name": f"{mark(number)} house",
        "type": "house",
        "address": f"{mark(number)} street",
        "owner": USERS[number],
        "driver": "simulator",
        "ambients": [{"id": module_id(number, 90), "name": f"{mark(number)} room", "modules": modules[:3]}],
        "modules": [*modules[3:], controller, scene],
    }


def first_estate() -> dict[str, Any]:
    users = [{"email": mail, "password": "a good long password"} for mail in USERS]
    return {
        "users": [*users, {"email": LATE}],
        "subscriptions": [{"name": "rights", "key": KEY}],
        "clients": [{"id": "rights-app", "name": "Rights", "scopes": list(ALL_SCOPES)}],
        "plants": [plant_record(number) for number in PLANTS],
    }


class SecondProcess:
    """A second process on the store, kept open between steps."""

    def __init__(self, gateway: Gateway) -> None:
        self._runner = asyncio.Runner()
        self._opened = open_tools(Settings(data=gateway.data, public_url=gateway.base_url))
        self._tools: Tools = self._runner.run(self._opened.__aenter__())

    def do(self, act: Callable[[Tools], Awaitable[T]]) -> T:
        async def run() -> T:
            result = await act(self._tools)
            assert await self._tools.store.wait_applied(PATIENCE), "the running gateway did not take up the change"
            return result

        return self._runner.run(run())

    def close(self) -> None:
        self._runner.run(self._opened.__aexit__(None, None, None))
        self._runner.close()


@pytest.fixture(scope="module")
def gateway_and_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, SecondProcess]]:
    gateway = serve_estate(first_estate(), tmp_path_factory.mktemp("rights"), {"DOMOGATE_SIMULATOR_TICK": "3600"})
    with running(gateway):
        add_credentials(gateway, KEY)
        second_process = SecondProcess(gateway)
        try:
            yield gateway, second_process
        finally:
            second_process.close()


class RightsMachine(RuleBasedStateMachine):
    """The model, and the checks of the gateway against it."""

    gateway: Gateway
    second_process: SecondProcess

    @initialize()
    def everything_as_at_first(self) -> None:
        """Each plant is active and belongs only to its first owner; the lamp is in the first plant."""
        self.owner = {number: USERS[number] for number in PLANTS}
        self.allowed: dict[int, set[str]] = {number: set() for number in PLANTS}
        self.removed: set[int] = set()
        self.invited: dict[int, set[str]] = {number: set() for number in PLANTS}
        self.lamp_in = 0
        self.put_estate()

    def put_estate(self) -> None:
        """Import an estate that matches the model. With pruning, because only that removes rights."""
        document = first_estate()
        for number, plant in enumerate(document["plants"]):
            plant |= {
                "owner": self.owner[number],
                "allowed": sorted(self.allowed[number]),
                "invited": sorted(self.invited[number]),
            }
            plant["status"] = "removed" if number in self.removed else "active"
        lamp = {"id": WANDERER, "name": f"{mark(self.lamp_in)} lamp", "kind": "light"}
        document["plants"][self.lamp_in]["modules"].append(lamp)
        self.view = EstateView(document)

        async def bring_in(tools: Tools) -> None:
            read = read_estate(yaml.safe_dump(document), "the model")
            await tools.store.import_estate(await build_estate(read, tools.hasher, known=USERS), prune=True)

        self.second_process.do(bring_in)

    def user_id(self, who: str) -> Id:
        return Id(claims_of(self.gateway.people[who].id_token)["sub"])

    def mine(self, who: str) -> set[int]:
        return {number for number in PLANTS if who == self.owner[number] or who in self.allowed[number]}

    # what changes

    @rule(number=st.sampled_from(PLANTS), who=st.sampled_from(USERS))
    def allow(self, number: int, who: str) -> None:
        if who != self.owner[number]:
            self.allowed[number].add(who)
            self.second_process.do(lambda tools: tools.store.allow_user(Id(plant_id(number)), self.user_id(who)))

    @rule(number=st.sampled_from(PLANTS), who=st.sampled_from(USERS))
    def withdraw(self, number: int, who: str) -> None:
        if who in self.allowed[number]:
            self.allowed[number].discard(who)
            self.second_process.do(lambda tools: tools.store.withdraw_user(Id(plant_id(number)), self.user_id(who)))

    @rule(number=st.sampled_from(PLANTS))
    def invite_someone_not_active(self, number: int) -> None:
        self.invited[number].add(LATE)
        self.second_process.do(lambda tools: tools.store.invite(Id(plant_id(number)), LATE))

    @rule(number=st.sampled_from(PLANTS))
    def remove(self, number: int) -> None:
        self.removed.add(number)
        self.second_process.do(
            lambda tools: tools.store.set_plant_status(Id(plant_id(number)), PlantStatus.REMOVED, tools.clock.now())
        )

    @rule(number=st.sampled_from(PLANTS))
    def bring_back(self, number: int) -> None:
        self.removed.discard(number)
        self.second_process.do(lambda tools: tools.store.set_plant_status(Id(plant_id(number)), PlantStatus.ACTIVE, 0.0))

    @rule(number=st.sampled_from(PLANTS), who=st.sampled_from(USERS))
    def hand_over(self, number: int, who: str) -> None:
        self.allowed[number].discard(who)
        self.owner[number] = who
        self.put_estate()

    @rule(number=st.sampled_from(PLANTS))
    def carry_the_lamp(self, number: int) -> None:
        self.lamp_in = number
        self.put_estate()

    # what is seen

    @rule(who=st.sampled_from(USERS), number=st.sampled_from(PLANTS), operation=st.sampled_from(ABOUT_A_PLANT))
    def look(self, who: str, number: int, operation: Operation) -> None:
        for target in targets_in(self.view.plant(plant_id(number)), operation):
            answer = self.gateway.send(operation, target, who=who)
            if number in self.removed:
                expect_refusal(operation, answer, not_found(operation))
            elif number not in self.mine(who):
                expect_refusal(operation, answer, not_your_plant(operation))
            else:
                assert answer.status_code == 200, f"{operation} as {who}: {answer.text}"
            self.sees_only_their_own(who, answer.text)

    @rule(who=st.sampled_from(USERS), own=st.sampled_from(PLANTS), other=st.sampled_from(PLANTS))
    def reach_for_another_plants_module(self, who: str, own: int, other: int) -> None:
        if own == other or own in self.removed or own not in self.mine(who):
            return
        for operation in ABOUT_A_PLANT:
            if operation.kind is not None or "{ambient}" in operation.path:
                for target in targets_in(self.view.plant(plant_id(other)), operation):
                    answer = self.gateway.send(operation, {**target, "plant": plant_id(own)}, who=who)
                    expect_refusal(operation, answer, 404)
                    self.sees_only_their_own(who, answer.text, besides=other)

    def sees_only_their_own(self, who: str, text: str, besides: int | None = None) -> None:
        for number in PLANTS:
            if number not in self.mine(who) or number == besides:
                assert mark(number) not in text, f"{who} sees {mark(number)}: {text[:300]}"

    @invariant()
    def every_list_is_exactly_ones_own(self) -> None:
        if not hasattr(self, "owner"):
            return
        for who in USERS:
            for operation in LISTS:
                listed = {plant_id(n) for n in self.mine(who) if operation is E6 or n not in self.removed}
                answer = self.gateway.send(operation, who=who)
                if not listed:
                    expect_nothing(operation, answer)
                    continue
                body = expect_ok(operation, answer)
                plants = body["plants"] if isinstance(body, dict) else body
                assert {plant["id"] for plant in plants} == listed, f"{operation} as {who}"
                self.sees_only_their_own(who, answer.text)


def test_nobody_ever_sees_what_is_not_theirs(gateway_and_process: tuple[Gateway, SecondProcess]) -> None:
    class OnThisGateway(RightsMachine):
        gateway, second_process = gateway_and_process

    run_state_machine_as_test(
        OnThisGateway,
        settings=settings(
            max_examples=examples(3),
            stateful_step_count=15,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_an_invitation_becomes_a_membership_once_its_user_is_active(gateway_and_process: tuple[Gateway, SecondProcess]) -> None:
    gateway, second_process = gateway_and_process
    target = {"plant": plant_id(2)}
    second_process.do(lambda tools: tools.store.set_plant_status(Id(plant_id(2)), PlantStatus.ACTIVE, 0.0))

    async def invite_only_late(tools: Tools) -> None:
        stored = await tools.store.find_plant(Id(plant_id(2)))
        assert stored is not None
        for member in stored.plant.allowed:
            await tools.store.withdraw_user(stored.plant.id, member.user_id)
        await tools.store.invite(stored.plant.id, LATE)

    second_process.do(invite_only_late)

    async def activate(tools: Tools) -> None:
        late, example = await tools.store.find_user_by_email(LATE), await tools.store.find_user_by_email(USERS[0])
        assert late is not None
        assert example is not None
        await tools.store.save_user(msgspec.structs.replace(late, password_hash=example.password_hash))

    second_process.do(activate)
    gateway.__dict__.pop("people", None)
    add_credentials(gateway, KEY)
    expect_ok(E7, gateway.send(E7, target, who=LATE))
    plant = next(p for p in expect_ok(E6, gateway.send(E6, who=LATE))["plants"] if p["id"] == plant_id(2))
    assert [user["email"] for user in plant["allowedUsers"]] == [LATE]
    assert plant["invitedUsers"] == []
