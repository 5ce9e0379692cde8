"""The pages while the gateway is killed and started again, with tokens that end meanwhile, and after a right is withdrawn."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from support.gateway import import_estate
from support.pages import visit
from support.restartable import RestartableGateway, clean_environment, kill

pytestmark = pytest.mark.slow

ADA, OSCAR, OTTO = "ada@example.com", "oscar@example.com", "otto@example.com"
PASSWORD = "four green kites"
HOME = "5b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a01"
# Tokens end while the gateway is away.
SETTINGS = {"DOMOGATE_ACCESS_TOKEN_LIFETIME": "4", "DOMOGATE_ID_TOKEN_LIFETIME": "4"}
UNREACHABLE = "The gateway cannot be reached"


def estate() -> dict[str, Any]:
    people = [(ADA, "Ada", False), (OSCAR, "Oscar", True), (OTTO, "Otto", True)]
    lamp = {"id": "5b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a02", "name": "Desk lamp", "kind": "light"}
    return {
        "users": [{"email": mail, "name": name, "password": PASSWORD, "operator": operator} for mail, name, operator in people],
        "plants": [{"id": HOME, "name": "Small house", "type": "house", "owner": ADA, "modules": [lamp]}],
    }


async def test_they_recover_after_a_restart_and_a_withdrawn_right(chromium: Browser, tmp_path: Path) -> None:
    environment = clean_environment(SETTINGS)
    import_estate(estate(), tmp_path, tmp_path / "data", environment)
    users = [{"email": mail, "password": PASSWORD, "id_token": "x", "access_token": "x"} for mail in (ADA, OSCAR, OTTO)]
    restartable = RestartableGateway(tmp_path, environment, known={"users": users})
    gateway = restartable.start()
    try:
        async with visit(chromium, gateway, who=ADA) as ada, visit(chromium, gateway, who=OSCAR) as oscar:
            await ada.open(f"/homes/{HOME}")
            lamp = ada.page.get_by_role("article", name="Desk lamp").get_by_role("switch")
            before = await lamp.is_checked()
            await oscar.open("/console/people")
            await oscar.page.get_by_role("link", name="Otto").wait_for()

            kill(gateway.process)
            await expect(ada.page.get_by_text("Not live since")).to_be_visible()
            await oscar.page.get_by_role("navigation", name="Console").get_by_role("link", name="Drivers", exact=True).click()
            await expect(oscar.page.get_by_text(UNREACHABLE).first).to_be_visible()
            assert await ada.find_problems() == await oscar.find_problems() == []

            gateway = restartable.start()
            for walk in (ada, oscar):
                await expect(walk.page.get_by_text(UNREACHABLE)).to_have_count(0)
            await expect(ada.page.get_by_text("Not live since")).to_be_hidden()
            await lamp.click()
            await expect(lamp).to_be_checked(checked=not before)
            await oscar.page.get_by_role("table").wait_for()
            for walk in (ada, oscar):
                walk.complaints.clear()  # the browser reports the lost connections

            gateway.domogate("user", "operator", OSCAR, "no")
            # The open page asks for new tokens by itself, and these do not have the right.
            assert await oscar.shows("This area is for operators of the gateway.")
            areas = oscar.page.get_by_role("navigation", name="Areas")
            await expect(areas.get_by_role("link", name="Console")).to_have_count(0)
            await oscar.page.reload()
            assert await oscar.shows("This area is for operators of the gateway.")
            for walk in (ada, oscar):
                await walk.page.goto("about:blank")
                walk.complaints.clear()  # the browser reports requests with tokens that have ended
    finally:
        gateway.stop()
