"""The connection to the gateway: a restart, fresh tokens, revoked tokens, diagnostics."""

import json

import pytest

from home_assistant.conftest import ANNA, DARIO, Setup
from support.gateway import eventually

pytestmark = pytest.mark.slow

LAMP = "light.stair_lamp"


def switch(setup: Setup, state: str) -> None:
    """Switch a lamp at the wall, and wait until Home Assistant shows it."""
    setup.command("Stair lamp", {"do": "set light", "on": state == "on"})
    setup.home.wait_for(LAMP, state)


class TestRestart:
    def test_entities_are_unavailable_while_the_gateway_is_stopped_and_then_show_its_changes(self, setup: Setup) -> None:
        switch(setup, "on")
        setup.stop_gateway()
        setup.home.wait_for(LAMP, "unavailable")
        setup.home.wait_for("scene.casa_bianchi_come_home", "unavailable")
        setup.start_gateway()
        setup.home.wait_for(LAMP, "on")
        switch(setup, "off")
        switch(setup, "on")


class TestHomes:
    def test_a_removed_home_disappears_and_a_restored_home_appears(self, setup: Setup) -> None:
        home, lamp = "0ff1ce01-0000-4000-8000-000000000000", "light.desk_row_north"
        before = set(setup.home.states())
        setup.gateway.domogate("plant", "remove", home)
        eventually(lambda: lamp not in setup.home.states(), "the lamp has disappeared")
        setup.home.wait_for(LAMP, "on")
        setup.gateway.domogate("plant", "restore", home)
        eventually(lambda: set(setup.home.states()) == before, "the lamp and all other entities are back")
        eventually(lambda: setup.home.state(lamp)["state"] in ("on", "off"), "the lamp is available")


class TestTokens:
    def test_they_are_refreshed_and_stored(self, setup: Setup) -> None:
        before = setup.home.read_stored_tokens("Anna Bianchi")

        def is_refreshed() -> bool:
            setup.home.call("light.turn_on", LAMP)
            return setup.home.read_stored_tokens("Anna Bianchi") != before

        eventually(is_refreshed, "the tokens are refreshed")
        switch(setup, "off")

    def test_a_revoked_access_asks_for_a_login(self, setup: Setup) -> None:
        browser = setup.visit(ANNA)
        browser.revoke("home-assistant")
        browser.close()
        eventually(lambda: len(setup.home.open_flows()) == 1, "the dialog is open")
        (flow,) = setup.home.open_flows()
        assert (flow["context"]["source"], flow["step_id"]) == ("reauth", "reauth_confirm")
        setup.home.wait_for(LAMP, "unavailable")
        step = setup.home.send_form(flow, subscription_key="wrong")
        assert step["errors"] == {"subscription_key": "invalid_key"}
        step = setup.home.send_form(flow, subscription_key=setup.gateway.subscription_key)
        assert setup.log_in(step, DARIO)["reason"] == "wrong_account"
        setup.home.reload_entry(setup.home.entries()["Anna Bianchi"]["entry_id"])
        eventually(lambda: len(setup.home.open_flows()) == 1, "the dialog is open again")
        (flow,) = setup.home.open_flows()
        step = setup.home.send_form(flow, subscription_key=setup.gateway.subscription_key)
        assert setup.log_in(step, ANNA)["reason"] == "reauth_successful"
        eventually(lambda: setup.home.state(LAMP)["state"] != "unavailable", "the lamp is available")
        switch(setup, "on")
        assert setup.home.open_flows() == []


class TestUnloading:
    def test_a_reloaded_entry_follows_the_events_again(self, setup: Setup) -> None:
        setup.home.reload_entry(setup.home.entries()["Anna Bianchi"]["entry_id"])
        switch(setup, "off")
        switch(setup, "on")


class TestDiagnostics:
    def test_they_have_the_modules_but_no_secrets_and_no_names(self, setup: Setup) -> None:
        entry = setup.home.entries()["Anna Bianchi"]
        _, content = setup.home.get_bytes(f"/api/diagnostics/config_entry/{entry['entry_id']}")
        found = json.loads(content)["data"]
        assert {module["kind"] for module in found["modules"]} >= {"light", "lock", "chronothermostat", "scene"}
        assert found["connected"] is True
        tokens = setup.home.read_stored_tokens("Anna Bianchi")
        hidden = [tokens["access_token"], tokens["refresh_token"], setup.gateway.subscription_key, "Bianchi", "Stair lamp"]
        assert [text for text in hidden if text.encode() in content] == []
