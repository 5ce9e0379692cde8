"""New residents come by a mail and by a link: from the invitation to the lamp, on a phone."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from support.gateway import running, start
from support.pages import Walk, visit
from support.smtp_sink import SmtpSink, smtp_sink

pytestmark = pytest.mark.slow

ANNA, FABIO, NORA = "anna@example.com", "fabio@example.com", "nora@example.org"
HOUSE_ID = "ca5a0001-0000-4000-8000-000000000000"
PASSWORD = "four green kites by the sea"
LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4"/></svg>'


def read_link(mail: SmtpSink) -> str:
    body = mail.messages[-1].get_body(("plain",))
    assert body is not None
    found = re.search(r"http\S+", body.get_content())
    assert found is not None
    return found.group()


async def test_invited_people_get_to_the_lamp_by_mail_and_by_link(chromium: Browser, tmp_path: Path) -> None:
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
                await switch_the_lamp(nora)
            async with visit(chromium, gateway, who=ANNA, width=320) as anna, visit(chromium, gateway, width=320) as emil:
                await join_by_link(emil, await make_link(anna))
                await switch_the_lamp(emil)
                await anna.open(f"/homes/{HOUSE_ID}/people")
                row = anna.page.get_by_role("listitem").filter(has_text="Emil")
                await expect(row.get_by_role("button", name="Change access of emil.k")).to_be_visible()
                await expect(anna.page.get_by_text("Link valid until")).to_have_count(0)


async def make_link(anna: Walk) -> str:
    """The owner makes a link, and withdraws another one."""
    await anna.open(f"/homes/{HOUSE_ID}/people")
    for note in ("Nobody", "Emil"):
        await anna.page.get_by_role("button", name="Invite by link").click()
        dialog = anna.page.get_by_role("dialog")
        await dialog.get_by_label("Who is it for?").fill(note)
        await dialog.get_by_label("Only these rooms").check()
        await dialog.get_by_label("Hall", exact=True).check()
        assert await anna.find_problems_everywhere("link-new") == []
        await dialog.get_by_role("button", name="Make the link").click()
        url = await dialog.locator("code").inner_text()
        await expect(dialog.get_by_role("button", name="Copy")).to_be_visible()
        assert await anna.find_problems_everywhere("link-made") == []
        await dialog.get_by_role("button", name="I have stored it").click()
    assert await anna.find_problems_everywhere("links") == []
    for page in ("people", "people/link"):
        await anna.open(f"/auth/account/plants/{page}?plant={HOUSE_ID}")
        assert await anna.find_problems_everywhere(f"account-{page.replace('/', '-')}") == []
    await anna.page.get_by_label("Who is it for?").fill("Third")
    await anna.page.get_by_role("button", name="Make the link").click()
    await expect(anna.page.get_by_role("heading", level=1)).to_have_text("Link for Third")
    assert await anna.find_problems_everywhere("account-link-made") == []
    await anna.page.get_by_role("link", name="I have copied the link").click()
    await anna.page.get_by_role("button", name="Withdraw the link: Third").click()
    assert await anna.shows("The link is withdrawn.")
    await anna.open(f"/homes/{HOUSE_ID}/people")
    await anna.page.get_by_role("button", name="Remove the link: Nobody").click()
    await expect(anna.page.get_by_text("Link valid until")).to_have_count(1)
    return url


async def join_by_link(emil: Walk, url: str) -> None:
    await emil.page.goto(url)
    await expect(emil.page.get_by_role("heading", level=1)).to_have_text("You are invited to Casa Bianchi")
    await expect(emil.page.get_by_text("What you may use: Hall")).to_be_visible()
    assert await emil.find_problems_everywhere("invitation") == []
    await emil.page.get_by_role("link", name="Make an account").click()
    await expect(emil.page.get_by_label("Your name")).to_have_value("")
    await emil.page.get_by_label("Login name").fill("emil.k")
    assert await emil.find_problems_everywhere("invitation-account") == []
    for field in await emil.page.locator("main input[type=password]").all():
        await field.fill(PASSWORD)
    await emil.page.get_by_role("button", name="Make the account and join").click()


async def switch_the_lamp(walk: Walk) -> None:
    await expect(walk.page.get_by_role("heading", level=1)).to_have_text("Casa Bianchi")
    lamp = walk.page.get_by_role("article", name="Hall lamp")
    before = await lamp.get_by_role("switch").is_checked()
    await lamp.get_by_role("switch").click()
    await expect(lamp.get_by_role("switch")).to_be_checked(checked=not before)
    await expect(lamp).to_have_attribute("aria-busy", "false")
    await expect(lamp.get_by_role("alert")).to_have_count(0)
