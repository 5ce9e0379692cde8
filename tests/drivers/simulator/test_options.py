from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.devices import DeviceKind
from domogate.domain.ids import Id
from domogate.drivers.simulator.device import REAL_TIME
from domogate.drivers.simulator.options import OPTIONS, find_option_problems
from domogate.drivers.simulator.plant import SimulatedPlant
from domogate.drivers.simulator.power import LOADS
from domogate.drivers.simulator.weather import Weather
from support.clocks import NOON
from support.devices import make_attached
from support.markdown import section, tables

DOCUMENT = (Path(__file__).parents[3] / "docs" / "simulator.md").read_text("utf-8")
JUNK = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.text(max_size=5), max_size=3)


def problems(kind: DeviceKind, /, **options: Any) -> list[tuple[tuple[str | int, ...], str]]:
    return list(find_option_problems(kind, options))


class TestOptions:
    @pytest.mark.parametrize(
        ("kind", "options"),
        [
            (DeviceKind.LOCK, {}),
            (DeviceKind.LOCK, {"simulate": "offline"}),
            (DeviceKind.LIGHT, {"transition": 2.5, "room": "hall"}),
            (DeviceKind.AUTOMATION, {"travel": 0}),
            (DeviceKind.PLUG, {"load": "washing machine"}),
            (DeviceKind.PLUG, {"watts": 12.5}),
            (DeviceKind.MULTISOCKET, {"sockets": 6, "loads": ["lamp", "router"]}),
            (DeviceKind.REMOTE, {"lasts": 0.05}),
            (DeviceKind.ENERGYMETER, {"base": 44_000}),
        ],
    )
    def test_that_are_right_have_no_problems(self, kind: DeviceKind, options: dict[str, Any]) -> None:
        assert problems(kind, **options) == []

    @pytest.mark.parametrize(
        ("kind", "options", "path", "words"),
        [
            (DeviceKind.LIGHT, {"simulate": "asleep"}, ("simulate",), "must be one of normal, offline, slow, refusing"),
            (DeviceKind.LIGHT, {"watts": 5}, ("watts",), "has no such option; it has: room, simulate, transition"),
            (DeviceKind.PLUG, {"wats": 5}, ("wats",), "has no such option; it has: load, room, simulate, watts"),
            (DeviceKind.PLUG, {"load": "toaster"}, ("load",), "must be one of lamp, router"),
            (DeviceKind.PLUG, {"load": "lamp", "watts": 5}, ("watts",), "either 'load' or 'watts'"),
            (DeviceKind.PLUG, {"watts": True}, ("watts",), "must be a number within 0..100000"),
            (DeviceKind.PLUG, {"watts": float("nan")}, ("watts",), "must be a number within"),
            (DeviceKind.MULTISOCKET, {"loads": ["lamp", "sun"]}, ("loads", 1), "must be one of"),
            (DeviceKind.MULTISOCKET, {"loads": "lamp"}, ("loads",), "must be a list"),
            (DeviceKind.MULTISOCKET, {"sockets": 1.5}, ("sockets",), "must be a whole number within 1..32"),
            (DeviceKind.HEATER, {"room": ""}, ("room",), "must be a text"),
        ],
    )
    def test_that_are_wrong_are_told_where_and_in_words(
        self, kind: DeviceKind, options: dict[str, Any], path: tuple[str | int, ...], words: str
    ) -> None:
        ((where, said),) = problems(kind, **options)
        assert where == path
        assert words in said

    @given(
        st.sampled_from(DeviceKind), st.dictionaries(st.sampled_from(sorted(OPTIONS)) | st.text(max_size=5), JUNK, max_size=4)
    )
    def test_of_any_kind_never_keep_a_plant_from_being_simulated(self, kind: DeviceKind, options: dict[str, Any]) -> None:
        plant = SimulatedPlant(Id("plant"), 1, Weather(1), REAL_TIME)
        attached = make_attached(kind, options=options)
        for _ in plant.attach((attached,), NOON):
            pass
        (report,) = plant.take_first_reports(NOON)
        assert report.reachable is (not problems(kind, **options) and options.get("simulate") != "offline")


class TestTheDocument:
    def test_has_every_option_with_its_kinds(self) -> None:
        (rows,) = tables(section(DOCUMENT, "Options"))
        told = {row["option"].strip("`"): row["kinds"] for row in rows}
        kinds = {name: ", ".join(sorted(option.kinds)) if option.kinds else "all" for name, option in OPTIONS.items()}
        assert told == kinds

    def test_has_every_load(self) -> None:
        (rows,) = tables(section(DOCUMENT, "Loads"))
        assert [row["load"].strip("`") for row in rows] == list(LOADS)
