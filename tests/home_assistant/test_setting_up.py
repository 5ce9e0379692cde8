"""The dialogs of the integration: mistakes, refusals, several people, logging in again, removing."""

from typing import Any

import pytest

from home_assistant.conftest import ANNA, BRUNO, ELENA, Setup

pytestmark = pytest.mark.slow

UNIT = "405b0001-0501-4000-8000-000000000101"
NAMES = {ANNA: "Anna Bianchi", BRUNO: "Bruno Conti", ELENA: "Elena Ferri"}


class TestAddingAGateway:
    @pytest.mark.parametrize(
        ("changed", "error"),
        [
            ({"url": "gateway"}, {"url": "invalid_url"}),
            ({"url": "http://127.0.0.1:9"}, {"base": "cannot_connect"}),
            ({"subscription_key": "wrong"}, {"subscription_key": "invalid_key"}),
        ],
    )
    def test_a_mistake_is_shown_at_its_field(self, setup: Setup, changed: dict[str, str], error: dict[str, str]) -> None:
        right = {"url": setup.gateway.base_url, "subscription_key": setup.gateway.subscription_key}
        step = setup.home.send_form(setup.home.begin_flow(), **{**right, **changed})
        assert (step["step_id"], step["errors"]) == ("user", error)

    def test_the_same_person_is_added_once(self, setup: Setup) -> None:
        assert setup.add(ANNA)["reason"] == "already_configured"

    def test_a_person_who_refuses_is_not_added(self, setup: Setup) -> None:
        assert setup.add(BRUNO, decision="deny")["reason"] == "user_rejected_authorize"

    def test_homes_must_be_allowed(self, setup: Setup) -> None:
        assert setup.add(BRUNO, only=["audiovideoterminal.read"])["reason"] == "missing_scope"


class TestAnotherPerson:
    def test_without_the_scope_of_doors_locks_are_shown_but_do_not_open(self, setup: Setup) -> None:
        entry = add(setup, BRUNO, only=["home.use"])
        try:
            lock = find_entity(setup, entry, "lock", "Front door lock")
            setup.home.wait_for(lock, "locked")
            assert "Front door lock" in setup.home.refuse("lock.unlock", lock)
        finally:
            setup.home.remove_entry(entry["entry_id"])

    def test_emergency_lighting_is_shown_and_removing_the_entry_ends_the_access(self, setup: Setup) -> None:
        entry = add(setup, ELENA)
        unit = find_entity(setup, entry, "binary_sensor", "Exit sign west 1 Problem")
        charge = find_entity(setup, entry, "sensor", "Exit sign west 1 Battery")
        alert = find_entity(setup, entry, "binary_sensor", "Controller west wing Alert")
        assert [setup.home.state(entity)["state"] for entity in (unit, alert)] == ["off", "off"]
        shown = setup.home.state(charge)
        assert (shown["state"], shown["attributes"]["unit_of_measurement"]) == ("100", "%")
        # Two units of this controller make an alert, and one unit has a failure already.
        setup.gateway.domogate("fault", "inject", UNIT, "failure", "--value", "BLOCK.FAULTY_BATTERY")
        assert setup.home.wait_for(unit, "on")["attributes"]["failures"] == ["BLOCK.FAULTY_BATTERY"]
        setup.home.wait_for(alert, "on")
        setup.gateway.domogate("fault", "clear", UNIT)
        setup.home.wait_for(unit, "off")
        setup.home.wait_for(alert, "off")
        browser = setup.visit(ELENA)
        assert "Home Assistant" in browser.open_account()
        setup.home.remove_entry(entry["entry_id"])
        assert "Home Assistant" not in browser.open_account()
        browser.close()
        assert unit not in setup.home.states()
        assert NAMES[ELENA] not in setup.home.entries()


def add(setup: Setup, email: str, **decision: Any) -> dict[str, Any]:
    """Add a person and return the config entry."""
    step = setup.add(email, **decision)
    assert step["type"] == "create_entry", step
    return setup.home.entries()[NAMES[email]]


def find_entity(setup: Setup, entry: dict[str, Any], domain: str, name: str) -> str:
    """The id of an entity. Two people may have entities with the same name."""
    own = {
        row["entity_id"]
        for row in setup.home.tell("config/entity_registry/list")
        if row["config_entry_id"] == entry["entry_id"]
    }
    (found,) = [
        state["entity_id"]
        for state in setup.home.states().values()
        if state["entity_id"] in own
        and state["entity_id"].startswith(f"{domain}.")
        and state["attributes"]["friendly_name"] == name
    ]
    return str(found)
