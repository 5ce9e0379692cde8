"""The contract on three gateways behind a balancer that chooses one at random: some tests of each family.

`DOMOGATE_TEST_GATEWAYS=3 pytest tests/contract` runs all of them, and so does `./dev soak --only contract`.
"""

from collections.abc import Iterator

import pytest

from contract.test_door_entry import TestE9PlantTopology, TestE10ListPlants
from contract.test_emergency_lighting import TestE17Sites
from contract.test_extensions import TestX3AndX4FindThermostats
from contract.test_home_automation import TestE6ListPlants
from contract.test_home_control import TestE1SetPlugStatus
from contract.test_thermostat import TestE13ProgramList
from contract.test_touch_panel_and_multisocket import TestE14ListPlants, TestE16Plugs
from support.cluster_gateway import ClusterGateway, start_cluster
from support.examples import is_long
from support.gateway import Gateway, running
from support.http import Api, expect_ok
from support.spec_operations import E1, E16, E20

pytestmark = pytest.mark.slow

TURNS = 30 if is_long() else 12

__all__ = [
    "TestE1SetPlugStatus",
    "TestE6ListPlants",
    "TestE9PlantTopology",
    "TestE10ListPlants",
    "TestE13ProgramList",
    "TestE14ListPlants",
    "TestE16Plugs",
    "TestE17Sites",
    "TestX3AndX4FindThermostats",
]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(start_cluster("demo", tmp_path_factory.mktemp("cluster"), {})) as cluster:
        yield cluster


def test_the_echo_family_answers(demo: Gateway) -> None:
    assert b"train" in demo.send(E20, body=b'{"vehicleType": "train"}').content


def test_a_command_that_one_gateway_confirmed_is_shown_by_every_gateway(demo: Gateway) -> None:
    assert isinstance(demo, ClusterGateway)
    who, target = demo.case(E1)
    rooms = demo.estate.plant(target["plant"]).plug_ambients
    room = next(room for room in rooms if room["id"] == target["ambient"])
    plugs = {module["id"] for module in room["modules"] if module["kind"] == "plug"}
    gateways = [Api(member.base_url, demo.subscription_key) for member in demo.cluster.members]
    for turn in range(TURNS):
        on = turn % 2 == 0
        body = b'{"status": "%s"}' % (b"on" if on else b"off")
        answer = gateways[turn % 3].send(E1, target, token=demo.people[who].access_token, body=body)
        assert answer.status_code == 200, answer.text
        for other in gateways[turn % 3 + 1 :] + gateways[: turn % 3 + 1]:
            read = other.send(E16, {"plant": target["plant"]}, token=demo.people[who].token_for(E16))
            shown = {plug["id"]: plug["status"] for plug in expect_ok(E16, read)["plugs"]}
            assert {plug: shown[plug] for plug in plugs} == {plug: [on] for plug in plugs}, f"command {turn}"
    for gateway in gateways:
        gateway.close()
