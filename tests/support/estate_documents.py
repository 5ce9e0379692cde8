"""Hypothesis strategies for estate files: all shapes of plants, small enough to import quickly."""

import uuid
from typing import Any

from hypothesis import strategies as st

from support.spec_operations import ALL_SCOPES
from support.spec_schemas import FAILURE_TYPES

KEY = "generated-estates-only-0123456789"
OWNER, GUEST, STRANGER, AWAITED = "owner@example.com", "guest@example.com", "stranger@example.com", "awaited@example.com"
PEOPLE = (OWNER, GUEST, STRANGER)
PASSWORD = "a good long password"

Record = dict[str, Any]
_NAMESPACE = uuid.UUID("7d9d3c1e-2f0a-4c55-9b1a-6d1f0a3b5c77")

# All texts that people may type: markup, quotes, all scripts; no control characters and no lone surrogates.
_letters = st.characters(exclude_categories=("Cs", "Cc", "Cn"))
_names = st.text(_letters, max_size=30)
_percent = st.integers(0, 100)


def base_estate() -> Record:
    """The people, the application and the key of every generated estate. They are fixed, so that tokens stay valid."""
    return {
        "users": [*({"email": mail, "name": mail.split("@")[0], "password": PASSWORD} for mail in PEOPLE), {"email": AWAITED}],
        "subscriptions": [{"name": "generated", "key": KEY}],
        "clients": [
            {"id": "generated-app", "name": "Generated", "scopes": list(ALL_SCOPES), "redirectUris": ["http://localhost/cb"]}
        ],
        "plants": [],
        "spareParts": [],
    }


class _Ids:
    """A new id at every call; the ids of an example are the same in every run."""

    def __init__(self, seed: int) -> None:
        self._seed, self._count = seed, 0

    def __call__(self) -> str:
        self._count += 1
        return str(uuid.uuid5(_NAMESPACE, f"{self._seed}/{self._count}"))


_part_types = st.sampled_from(["Battery", "Emergency lamp"])
_color = st.fixed_dictionaries({"hue": st.floats(0, 360), "saturation": st.floats(0, 100), "value": st.floats(0, 100)})
_light = st.fixed_dictionaries({"on": st.booleans()}, optional={"level": _percent, "color": _color})
_plug = st.fixed_dictionaries({"on": st.booleans()}, optional={"power": st.floats(0, 100_000), "energy": st.floats(0, 100_000)})
_remote = st.fixed_dictionaries(
    {"battery": st.sampled_from(["full", "high", "medium", "low", "very_low", "unknown"])},
    optional={"firmware": st.integers(0, 2**31 - 1)},
)
_thermostat = st.fixed_dictionaries(
    {
        "function": st.sampled_from(["heating", "cooling"]),
        "mode": st.sampled_from(["manual", "boost", "off", "protection", "automatic"]),
        "setPoint": st.floats(3, 40),
        "program": st.integers(0, 11),
    },
    optional={
        "activationTime": st.just("2999-12-31T23:59:59+01:00"),
        "scale": st.sampled_from(["C", "F"]),
        "loadActive": st.booleans(),
        "utcOffset": st.sampled_from(["+00:00", "-03:30", "+14:00", "+05:45"]),
        "temperature": st.floats(-20, 45),
        "humidity": _percent,
    },
)
STATES: dict[str, st.SearchStrategy[Any]] = {
    "light": _light,
    "plug": _plug,
    "remote": _remote,
    "chronothermostat": _thermostat,
    "automation": st.fixed_dictionaries({"position": _percent}),
    "heater": st.fixed_dictionaries({"on": st.booleans()}),
    "energymeter": st.fixed_dictionaries({}, optional={"power": st.floats(0, 1e6)}),
    "gateway": st.fixed_dictionaries({}, optional={"firmware": st.integers(0, 99)}),
    "lock": st.fixed_dictionaries({"locked": st.booleans()}),
    "activation": st.fixed_dictionaries({"active": st.booleans()}),
    "audiovideo unit": st.fixed_dictionaries({"on": st.booleans()}),
    "multisocket": st.fixed_dictionaries({"sockets": st.lists(st.booleans(), min_size=1, max_size=8)}),
}
_metric = st.fixed_dictionaries({"label": _names, "type": st.sampled_from(["Text", "Number", "Object"])})
_failures = st.lists(st.sampled_from(FAILURE_TYPES), max_size=3, unique=True)


@st.composite
def _module(draw: st.DrawFn, new_id: _Ids) -> Record:
    kind = draw(st.sampled_from(sorted(STATES)))
    module: Record = {"id": new_id(), "name": draw(_names), "kind": kind}
    if draw(st.booleans()):
        module["state"] = draw(STATES[kind])
    if draw(st.integers(0, 9)) == 0:
        module |= {"reachable": False, "options": {"simulate": "offline"}}
    if kind == "chronothermostat":
        numbers = sorted({*draw(st.sets(st.integers(0, 11), max_size=4)), module.get("state", {}).get("program", 0)})
        module["programs"] = [{"number": number, "name": draw(_names)} for number in numbers]
    if kind in ("light", "automation"):
        module |= draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "deviceType": _names,
                    "metrics": st.lists(
                        st.fixed_dictionaries({"label": _names, "type": st.sampled_from(["Text", "Number", "Object"])}),
                        max_size=2,
                    ),
                },
            )
        )
    return module


@st.composite
def _controller(draw: st.DrawFn, new_id: _Ids) -> Record:
    units = [
        {"id": new_id(), "reference": f"unit-{n % 3}", "failures": draw(_failures)} for n in range(draw(st.integers(0, 4)))
    ]
    return {
        "id": new_id(),
        "name": draw(_names),
        "kind": "emergency controller",
        "reference": draw(_names),
        "serialNumber": draw(_names),
        "alertLevel": draw(st.integers(1, 4)),
        "failures": draw(_failures),
        "units": units,
    }


def _scene(new_id: _Ids, name: str, modules: list[Record]) -> Record:
    orders: dict[str, Record] = {
        "light": {"do": "set light", "on": True},
        "plug": {"do": "switch plug", "on": True},
        "automation": {"do": "move shutter", "position": 50},
        "chronothermostat": {"do": "set thermostat", "mode": "manual", "setPoint": 20},
    }
    steps = [{"module": module["id"], **orders[module["kind"]]} for module in modules if module["kind"] in orders]
    return {"id": new_id(), "name": name, "kind": "scene", "steps": steps}


@st.composite
def _plant(draw: st.DrawFn, new_id: _Ids) -> Record:
    def rooms(most: int) -> list[Record]:
        return [
            {"id": new_id(), "name": draw(_names), "type": draw(_names), "modules": draw(st.lists(_module(new_id), max_size=4))}
            for _ in range(draw(st.integers(0, most)))
        ]

    plant: Record = {
        "id": new_id(),
        "name": draw(st.text(_letters, max_size=50)),
        "type": draw(st.sampled_from(["hotel", "house", "office", "hospital"])),
        "owner": draw(st.sampled_from(PEOPLE[:2])),
        "allowed": [],
        "invited": draw(st.sampled_from([[], [AWAITED], ["never.seen@example.com"]])),
        "floors": [{"id": new_id(), "name": draw(_names), "ambients": rooms(2)} for _ in range(draw(st.integers(0, 2)))],
        "ambients": rooms(2),
        "modules": draw(st.lists(_module(new_id), max_size=4)),
        **draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "country": st.text(_letters, max_size=50),
                    "zipCode": st.text("0123456789 AZ-", max_size=20),
                    "address": st.text(_letters, max_size=60),
                    "status": st.sampled_from(["active", "active", "removed"]),
                },
            )
        ),
    }
    plant["allowed"] = draw(st.sampled_from([[], [mail for mail in PEOPLE[:2] if mail != plant["owner"]]]))
    everything = [
        module
        for room in [*plant["ambients"], *(r for f in plant["floors"] for r in f["ambients"])]
        for module in room["modules"]
    ]
    if draw(st.booleans()):
        plant["modules"].append(_scene(new_id, draw(_names), [*everything, *plant["modules"]]))
    controllers = draw(st.lists(_controller(new_id), max_size=2))
    plant["modules"] += controllers
    plant["emergencyLighting"] = bool(controllers) or draw(st.booleans())
    return plant


@st.composite
def estates(draw: st.DrawFn) -> Record:
    """A whole estate: the fixed people, one to three plants, spare parts for some references."""
    new_id = _Ids(draw(st.integers(0, 2**16)))
    estate = base_estate()
    estate["plants"] = [draw(_plant(new_id)) for _ in range(draw(st.integers(1, 3)))]
    estate["spareParts"] = [
        {
            "unit": f"unit-{n}",
            "parts": [
                {
                    "reference": f"part-{n}-{i}",
                    "type": draw(st.sampled_from(["Battery", "Emergency lamp"])),
                    "quantity": str(i + 1),
                }
                for i in range(draw(st.integers(0, 2)))
            ],
        }
        for n in range(draw(st.integers(0, 3)))
    ]
    return estate


def draw_place(data: st.DataObject, document: Any) -> tuple[Any, Any]:
    """Any place in the document: a record or a list in it, and one of its keys."""
    place = document
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.integers(0, 5)) == 0:
            return place, key
        place = place[key]
