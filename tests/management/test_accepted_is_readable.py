"""Everything that the management API accepts can be read again: by the API, the command line, and as an estate file."""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from domogate.domain.devices import DeviceKind
from domogate.domain.estate import Estate, EstatePlant
from domogate.domain.people import MOST_DAILY_QUOTA
from domogate.domain.plants import Topology
from support.command_line import CommandLine
from support.examples import examples
from support.full_plant import FULL_PLANT, MODULE_OF
from support.management_setup import open_api
from support.stores import ANNA

pytestmark = pytest.mark.slow

LAMP = MODULE_OF[DeviceKind.LIGHT].id

_texts = st.text(st.characters(), min_size=1, max_size=12)
_times = st.builds(
    lambda moment, minutes: f"{moment.isoformat()}{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}",
    st.datetimes(),
    st.integers(-14 * 60, 14 * 60),
)
_uris = st.just("https://app.example/back") | st.builds("x:{}".format, _texts)
_LAST = "9999-12-31T23:59:59"
_CLIENT = {"id": "app", "name": "App", "confidential": True, "grants": []}

_records = st.lists(
    st.one_of(
        st.tuples(st.just("/users"), st.fixed_dictionaries({"email": st.emails() | _texts, "name": _texts})),
        st.tuples(
            st.just("/subscriptions"),
            st.fixed_dictionaries(
                {"name": _texts},
                optional={
                    "rate": _texts | st.sampled_from(["5/s", "100/m"]),
                    "dailyQuota": st.integers(0, 2 * MOST_DAILY_QUOTA),
                    "expiresAt": _times | st.just(f"{_LAST}-14:00"),
                },
            ),
        ),
        st.tuples(
            st.just("/clients"),
            st.fixed_dictionaries(
                {"id": _texts, "name": _texts, "confidential": st.booleans()},
                optional={
                    "redirectUris": st.lists(
                        st.just("https://app.example/back") | st.builds("x:{}".format, _texts), max_size=2
                    ),
                    "origins": st.lists(st.just("https://app.example") | _texts, max_size=2),
                },
            ),
        ),
        st.tuples(
            st.just(f"/plants/{FULL_PLANT.id}/faults"),
            st.fixed_dictionaries({"fault": st.just("offline"), "moduleId": st.just(LAMP), "until": _times}),
        ),
        st.tuples(st.just(f"/plants/{FULL_PLANT.id}/invitations"), st.fixed_dictionaries({"email": st.emails() | _texts})),
    ),
    min_size=1,
    max_size=8,
)
_LISTS = ("/users", "/subscriptions", "/clients", "/plants", f"/plants/{FULL_PLANT.id}", "/faults", "/audit")
_COMMANDS = ("user", "key", "client", "plant", "fault", "audit")


class TestWhateverIsAccepted:
    @pytest.mark.slow
    @settings(max_examples=examples(3), deadline=None, suppress_health_check=list(HealthCheck))
    @example(records=[("/subscriptions", {"name": "x", "expiresAt": f"{_LAST}-01:00"})])
    @example(records=[("/subscriptions", {"name": "x", "expiresAt": f"{_LAST}+00:00"})])
    @example(records=[("/subscriptions", {"name": "x", "dailyQuota": MOST_DAILY_QUOTA})])
    @example(records=[(f"/plants/{FULL_PLANT.id}/faults", {"fault": "offline", "moduleId": LAMP, "until": f"{_LAST}-01:00"})])
    @example(records=[("/clients", _CLIENT | {"origins": ["https://app.example", "https://app.example"]})])
    @given(records=_records)
    def test_is_listed_printed_exported_and_imported(self, records: list[tuple[str, dict[str, Any]]]) -> None:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            asyncio.run(_post(folder, records))
            for name in _COMMANDS:
                CommandLine(folder).read(name, "list")
                CommandLine(folder).good(name, "list")
            _export_and_import(folder)

    def test_is_imported_again_if_the_only_place_of_a_guest_was_deleted(self, tmp_path: Path) -> None:
        guest = (f"/plants/{FULL_PLANT.id}/invitations", {"email": "dora@example.com", "limits": {"modules": [LAMP]}})
        asyncio.run(_post(tmp_path, [guest], deleted=f"/plants/{FULL_PLANT.id}/modules/{LAMP}"))
        assert LAMP in _export_and_import(tmp_path)


def _export_and_import(folder: Path) -> str:
    """Import the export into another store. Return the export, which is the same in both."""
    first, second = CommandLine(folder), CommandLine(folder / "second")
    exported = first.good("estate", "export")
    file = folder / "estate.yaml"
    file.write_text(exported, "utf-8")
    second.good("estate", "import", str(file))
    assert second.good("estate", "export") == exported
    return exported


async def _post(folder: Path, records: list[tuple[str, dict[str, Any]]], deleted: str | None = None) -> None:
    """Each record is accepted or refused, and all lists can be read afterwards."""
    async with open_api(folder) as api:
        modules = (MODULE_OF[DeviceKind.LIGHT], MODULE_OF[DeviceKind.PLUG])
        users = (api.operator, ANNA)
        estate = Estate(users=users, clients=(api.client,), plants=(EstatePlant(FULL_PLANT, Topology(modules=modules), ()),))
        await api.env.store.import_estate(estate, prune=True)
        for path, body in records:
            answer = await api.send("POST", path, content=json.dumps(body).encode())
            assert answer.status_code in (201, 400, 404, 409, 422), answer.text
        if deleted is not None:
            await api.ok("DELETE", deleted, status=204)
        for path in _LISTS:
            await api.ok("GET", path)
        await api.env.audit.flush()
