"""A printed estate reads back to the same estate, and is easy to edit."""

import re

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.ids import Id, derived_id
from domogate.domain.people import User
from domogate.domain.plants import Member, Module, Plant, PlantType, Topology
from domogate.drivers import check_options
from domogate.estate import print_estate, read_estate
from domogate.estate.emit import emit_lists
from domogate.estate.times import parse_time, print_time
from support.estate_strategies import AMBIGUOUS, estates, times
from support.examples import examples

pytestmark = pytest.mark.slow

ANNA = User(derived_id("user", "anna@example.com"), "anna@example.com")
UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
HOUSE = Id("ca5a0001-0000-4000-8000-000000000000")


def house(name: str = "House", **more: object) -> Estate:
    plant = Plant(HOUSE, derived_id("internal", HOUSE), name=name, type=PlantType.HOUSE, owner=Member(ANNA.id, ANNA.email))
    plant = msgspec.structs.replace(plant, **more)
    return Estate(users=(ANNA,), plants=(EstatePlant(plant, Topology()),))


class TestRoundTrip:
    @pytest.mark.slow
    @settings(
        max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )
    @given(estates())
    def test_any_estate_reads_back_as_it_was(self, estate: Estate) -> None:
        assert read_estate(print_estate(estate), "printed").estate == estate

    def test_the_demo_estate_reads_back_as_it_was_and_prints_as_the_same_text(self, demo: Estate, printed: str) -> None:
        read_back = read_estate(printed, "printed").estate
        assert read_back == demo
        assert print_estate(read_back) == printed

    def test_a_scene_of_the_gateway_is_not_checked_by_the_driver_of_the_plant(self) -> None:
        lamp = Module(Id(f"{HOUSE[:-1]}1"), derived_id("internal", f"{HOUSE[:-1]}1"), "Lamp", DeviceKind.LIGHT, "mqtt")
        lamp = msgspec.structs.replace(lamp, options={"dialect": "zigbee2mqtt", "name": "lamp"})
        scene = Module(Id(f"{HOUSE[:-1]}2"), derived_id("internal", f"{HOUSE[:-1]}2"), "Off", DeviceKind.SCENE)
        (empty,) = house().plants
        estate = Estate(users=(ANNA,), plants=(EstatePlant(empty.plant, Topology(modules=(lamp, scene))),))
        text = print_estate(estate)
        assert "    driver: mqtt\n" in text
        read_back = read_estate(text, "printed", drivers=check_options({})).estate.plants[0].topology.modules
        assert [module.driver for module in read_back] == ["mqtt", "simulator"]

    def test_an_empty_estate_reads_back(self) -> None:
        assert read_estate(print_estate(Estate()), "printed").estate == Estate()

    @pytest.mark.parametrize("text", [*AMBIGUOUS, "two\nlines", 'a "quoted" word', "tab\there", "\x85\u2028\ufeff\x07", "y"])
    def test_text_that_looks_like_something_else_stays_text(self, text: str) -> None:
        estate = house(name=text, zip_code=text)
        assert read_estate(print_estate(estate), "printed").estate == estate

    @given(times | st.floats(0, 1e-5) | st.floats(253402300000, 253402300799))
    def test_times_keep_every_digit(self, at: float) -> None:
        assert parse_time(print_time(at)) == at

    @pytest.mark.parametrize("text", ["9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59.5Z", "1970-01-01T00:00:00+01:00"])
    def test_times_that_could_not_be_printed_are_not_read(self, text: str) -> None:
        assert parse_time(text) is None


class TestReadability:
    def test_what_can_be_derived_is_not_printed(self) -> None:
        assert print_estate(house()) == (
            "users:\n"
            "  - {email: anna@example.com}\n"
            "\n"
            "subscriptions: []\n"
            "\n"
            "clients: []\n"
            "\n"
            "plants:\n"
            "  - {id: ca5a0001-0000-4000-8000-000000000000, name: House, type: house, owner: anna@example.com}\n"
            "\n"
            "spareParts: []\n"
        )

    def test_a_unit_is_printed_under_its_controller_or_where_it_stands(self) -> None:
        def module(number: int, kind: DeviceKind, controller: Id | None = None) -> Module:
            identity = Id(f"ca5a0001-0000-4000-8000-00000000000{number}")
            return Module(identity, derived_id("internal", identity), f"M{number}", kind, controller_id=controller)

        controller = module(1, DeviceKind.EMERGENCY_CONTROLLER)
        near = module(2, DeviceKind.EMERGENCY_UNIT, controller.id)
        lamp = module(3, DeviceKind.LIGHT)
        far = module(4, DeviceKind.EMERGENCY_UNIT, controller.id)
        estate = house()
        placed = msgspec.structs.replace(estate.plants[0], topology=Topology(modules=(controller, near, lamp, far)))
        text = print_estate(msgspec.structs.replace(estate, plants=(placed,)))
        assert re.search(r"units:\n +- \{id: ca5a0001-0000-4000-8000-000000000002, name: M2\}", text)
        assert re.search(rf"name: M4\n +kind: emergency unit\n +controller: {controller.id}", text)

    @given(
        st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.integers() | st.text(max_size=30) | st.booleans())
    )
    def test_other_yaml_readers_understand_it_too(self, document: dict[str, object]) -> None:
        document = {f"k{key}": value for key, value in document.items()}
        assert yaml.safe_load("".join(emit_lists({"users": [document]}))) == {"users": [document]}

    def test_no_line_is_wider_than_a_screen_unless_a_text_is(self, printed: str) -> None:
        assert max(map(len, printed.splitlines())) <= 128
