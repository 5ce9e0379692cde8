"""A new resident comes by a mail: from the invitation to the lamp, on a phone."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from support.gateway import running, start
from support.pages import visit
from support.smtp_sink import SmtpSink, smtp_sink

pytestmark = pytest.mark.slow

ANNA, FABIO, NORA = "anna@example.com", "fabio@example.com", "nora@example.org"
PASSWORD = "four green kites by the sea"
LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4"/></svg>'


def read_link(mail: SmtpSink) -> str:
    body = mail.messages[-1].get_body(("plain",))
    assert body is not None
    found = re.search(r"http\S+", body.get_content())
    assert found is not None
    return found.group()


async def test_an_invited_person_gets_to_the_lamp(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_text(LOGO)
    async with smtp_sink() as mail:
        settings = {
            "DOMOGATE_SMTP_HOST": "127.0.0.1",
            "DOMOGATE_SMTP_PORT": str(mail.port),
            "DOMOGATE_SMTP_SECURITY": "none",
            "DOMOGATE_SMTP_SENDER": "gateway@example.com",
            "DOMOGATE_OPERATOR_NAME": "Casa Domotica",
            "DOMOGATE_OPERATOR_LOGO": str(tmp_path / "logo.svg"),
        }
        with running(await asyncio.to_thread(start, "demo", tmp_path, settings)) as gateway:
            async with visit(chromium, gateway, who=ANNA) as anna:
                await anna.open("/")
                await expect(anna.page.get_by_role("heading", level=1)).to_have_text("Casa Domotica")
                await expect(anna.page.locator("img.logo")).to_have_js_property("complete", True)
                assert await anna.page.locator("img.logo").evaluate("image => image.naturalWidth") > 0
                await anna.open("/homes")
                await anna.page.get_by_role("link", name="Casa Bianchi").first.click()
                pages = anna.page.get_by_role("navigation", name="Pages of this home")
                await pages.get_by_role("link", name="People").click()
                for email, said in ((FABIO, "may use this home now."), (NORA, "gets a mail with a link.")):
                    await anna.page.get_by_role("button", name="Invite a person").click()
                    await anna.page.get_by_role("dialog").get_by_label("E-mail").fill(email)
                    await anna.page.get_by_role("dialog").get_by_role("button", name="Invite a person").click()
                    assert await anna.shows(f"{email} {said}")
                while len(mail.messages) < 2:
                    await asyncio.sleep(0.05)
                assert all("by Anna Bianchi" in message.get_content() for message in mail.messages)
                assert f"{gateway.base_url}/homes" in mail.messages[0].get_content().split()
            async with visit(chromium, gateway, width=320) as nora:
                await nora.page.goto(read_link(mail))
                await nora.page.locator("main input[type=password]").first.wait_for()
                assert "Casa Domotica" in mail.messages[-1]["From"]
                for field in await nora.page.locator("main input[type=password]").all():
                    await field.fill(PASSWORD)
                await nora.page.locator("main form button").first.click()
                await expect(nora.page.get_by_role("heading", level=1)).to_have_text("Casa Bianchi")
                lamp = nora.page.get_by_role("article", name="Hall lamp")
                before = await lamp.get_by_role("switch").is_checked()
                await lamp.get_by_role("switch").click()
                await expect(lamp.get_by_role("switch")).to_be_checked(checked=not before)
                await expect(lamp).to_have_attribute("aria-busy", "false")
                await expect(lamp.get_by_role("alert")).to_have_count(0)
