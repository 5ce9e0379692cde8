"""The tools of the portal in a real browser: own applications and keys, errors, event stream, tokens, webhooks."""

import asyncio
import json
import re
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import Browser, Route, expect

from support.browser_tab import allow_access
from support.gateway import Gateway
from support.http import client
from support.markdown import section, tables
from support.pages import Walk, visit
from support.spec_operations import E6

pytestmark = pytest.mark.slow

ANNA = "anna@example.com"
ERRORS = Path(__file__).parents[2] / "docs" / "errors.md"
SLOW = "5002"
"""Its button comes first: it gets its answer at a deadline of the gateway, so the other errors are caused meanwhile."""
CAUSE_ERRORS = """codes => Promise.all(codes.map(async (code, number) => {
    const error = document.querySelector(`#error-${code}`);
    const changed = () => new Promise(done => {
        const observer = new MutationObserver(() => { observer.disconnect(); done(); });
        observer.observe(error, { childList: true, subtree: true, characterData: true });
    });
    if (number > 1) await new Promise(done => window.addEventListener(`answered-${codes[number - 1]}`, done));
    [...error.querySelectorAll('button')].find(button => button.innerText.startsWith('Cause ')).click();
    while (!error.querySelector('.answer-head .tag')) await changed();
    window.dispatchEvent(new Event(`answered-${code}`));
    return {
        code,
        statuses: [...error.querySelectorAll('.error-statuses .tag')].map(tag => tag.innerText),
        answer: error.querySelector('.answer-head .tag').innerText,
        request: error.querySelector('pre').innerText,
    };
}))"""
"""Each button is pressed after the answer to the one before. Playwright would need a third of a second for each button."""
PAGES = ("applications", "errors", "stream", "webhooks", "token")


def forget_refusals(walk: Walk) -> None:
    """The browser reports every refused request, also those that a test causes on purpose."""
    refusal = "Failed to load resource: the server responded with a status of 4"
    walk.complaints[:] = [text for text in walk.complaints if not text.startswith((refusal, refusal.replace("4", "5")))]


async def test_the_tools_look_right_and_have_no_barriers(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA, width=320) as walk:
        await walk.open("/developers/start")
        for name in PAGES:
            await walk.page.goto(f"{demo.base_url}/developers/{name}")
            await expect(walk.page.locator("main .panel, main .table-box, main textarea").first).to_be_visible()
            if name == "webhooks":
                await walk.page.get_by_role("button", name="Make a receiver").click()
                await walk.page.get_by_role("button", name="Send a test event").click()
                assert await walk.shows("The signature is right")
            if name == "token":
                await walk.page.get_by_role("button", name="Use my own token").click()
                assert await walk.shows("The token is valid")
            assert await walk.find_problems_everywhere(f"developers-{name}") == []


async def log_in_by_sample(walk: Walk, back: str, secret: str) -> dict[str, str]:
    """Log in with the printed address, run the printed line, and return the tokens."""
    page = walk.page
    login = await page.get_by_role("group", name="Address of the login").inner_text()
    tab = await page.context.new_page()
    await tab.goto(login)
    address = await allow_access(tab, back)
    await page.get_by_label("the whole address to which the browser returned").fill(address)
    line = await page.get_by_role("group", name="Exchange the code for tokens").inner_text()
    command = ["sh", "-c", line.replace("curl -i", "curl -sf").replace("SECRET", secret)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=True, timeout=60)
    tokens: dict[str, str] = json.loads(done.stdout)
    return tokens


async def test_a_developer_gets_an_application_and_a_key(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        page = walk.page
        await page.clock.install()
        await walk.open("/developers/applications")
        await page.get_by_role("button", name="Register an application").click()
        form = page.get_by_role("dialog")
        await form.get_by_label("Name").fill("Evening lights")
        await form.get_by_role("checkbox", name="light.read").check()
        await form.get_by_label("It can keep a secret").check()
        await form.get_by_role("button", name="Register an application").click()
        await expect(form.get_by_role("alert")).to_contain_text("needs an address to return to")
        await expect(form.get_by_role("alert")).to_be_in_viewport()
        await form.get_by_label("Redirect URIs").fill("localhost:9999/back")
        await form.get_by_role("button", name="Register an application").click()
        await expect(form.get_by_role("alert")).to_contain_text("'localhost:9999/back' is not an address to return to.")
        await expect(form.get_by_role("alert")).to_be_in_viewport()
        forget_refusals(walk)
        await form.get_by_label("Redirect URIs").fill("https://lights.example/back")
        await form.get_by_role("button", name="Register an application").click()
        secret = await page.get_by_role("dialog", name="Secret of the application").locator("code").inner_text()
        await page.keyboard.press("Escape")
        assert await walk.shows("Log people in with Evening lights")
        await expect(page.get_by_role("heading", name="Log people in with")).to_be_in_viewport()
        assert await walk.find_problems_everywhere("developers-next-step") == []
        row = page.get_by_role("row", name="Evening lights")
        client_id = await row.locator("code").inner_text()
        with client(demo.base_url) as web:
            refused = web.post(
                "/auth/token", data={"grant_type": "refresh_token", "refresh_token": "x"}, auth=(client_id, secret)
            )
            assert refused.json()["error"] == "invalid_grant", "the client and its secret are accepted"

        await page.get_by_role("button", name="Get a key").click()
        await page.get_by_role("dialog").get_by_label("Name").fill("Laptop")
        await page.get_by_role("dialog").get_by_role("button", name="Get a key").click()
        key = await page.get_by_role("dialog", name="Subscription key").locator("code").inner_text()
        await page.keyboard.press("Escape")
        assert demo.send(E6, token=demo.people[ANNA].token_for(E6), key=key).status_code == 200
        usage = page.get_by_role("row", name="Laptop")
        while "1 of" not in await usage.inner_text():
            await page.clock.fast_forward(10_000)  # then the page counts again
            await asyncio.sleep(0.2)
        assert await walk.shows("It is counted again every 10 seconds")

        await usage.get_by_role("button", name="Revoke").click()
        await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        assert await walk.shows("You have no key yet.")
        assert demo.send(E6, token=demo.people[ANNA].token_for(E6), key=key).status_code == 401
        tokens = await log_in_by_sample(walk, "https://lights.example/back", secret)
        assert tokens["scope"] == "light.read"
        await row.get_by_role("button", name="Delete").click()
        await expect(page.get_by_role("dialog")).to_have_css("text-align", "left")
        await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        assert await walk.shows("You have not registered an application yet.")


async def test_without_self_service_nothing_is_offered(chromium: Browser, demo: Gateway) -> None:
    async def answer(route: Route) -> None:
        allowed = await (await route.fetch()).json()
        await route.fulfill(json={**allowed, "enabled": False})

    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.page.route(re.compile("/developer/v1/self-service"), answer)
        await walk.open("/developers/applications")
        assert await walk.shows("does not allow self-service")
        await expect(walk.page.get_by_role("button", name="Get a key")).to_have_count(0)
        await expect(walk.page.get_by_role("button", name="Register an application")).to_have_count(0)


async def test_each_error_is_caused_by_its_button(chromium: Browser, demo: Gateway) -> None:
    (documented,) = tables(section(ERRORS.read_text(), "Faults and their statuses"))
    async with visit(chromium, demo, who=ANNA) as walk:
        await walk.open("/developers/errors")
        await walk.page.get_by_role("button", name="Cause KeyRefused").wait_for()
        shown = await walk.page.locator("li.error h3").all_inner_texts()
        assert [text.split() for text in shown] == [[row["fault"].strip("`"), row["code"]] for row in documented]
        codes = [row["code"] for row in documented]
        codes.sort(key=lambda code: code != SLOW)
        caused = {one["code"]: one for one in await walk.page.evaluate(CAUSE_ERRORS, codes)}
        for row in documented:
            error = caused[row["code"]]
            assert error["statuses"] == row["ladder"].split(", ")
            assert error["answer"] in error["statuses"]
            assert demo.subscription_key not in error["request"]
            assert "eyJ" not in error["request"], "the token is not shown"
        headers = {"authorization": f"Bearer {demo.people[ANNA].access_token}"}
        assert (await walk.page.request.get(f"{demo.base_url}/developer/v1/keys", headers=headers)).status == 403
        forget_refusals(walk)


async def test_the_event_stream_resumes_after_a_pause(chromium: Browser, demo: Gateway) -> None:
    switch_lamp(demo, on=False)
    async with visit(chromium, demo, who=ANNA) as walk:
        page = walk.page
        await connect_stream(walk, "state")
        await expect(page.get_by_role("listitem").filter(has_text="ready")).to_have_count(1)
        switch_lamp(demo, on=True)
        lamp = page.get_by_role("listitem").filter(has_text="Ceiling lamp")
        await expect(lamp).not_to_have_count(0)
        await lamp.first.locator("summary").click()
        await expect(lamp.first).to_contain_text('"type": "domogate.state"')

        await page.get_by_role("button", name="Pause").click()
        assert await walk.shows("Paused")
        await page.get_by_role("button", name="Clear the list").click()
        switch_lamp(demo, on=False)
        await expect(lamp).to_have_count(0)
        await page.get_by_role("button", name="Resume after").click()
        await expect(lamp).not_to_have_count(0)


async def test_the_event_stream_uses_a_filter_that_is_changed_while_it_is_connected(chromium: Browser, demo: Gateway) -> None:
    switch_lamp(demo, on=False)
    async with visit(chromium, demo, who=ANNA) as walk:
        page = walk.page
        await connect_stream(walk, "people")
        await expect(page.get_by_role("status").get_by_text("Connected")).to_be_visible()
        await page.get_by_label("Kind").select_option("state")
        switch_lamp(demo, on=True)
        await expect(page.get_by_role("listitem").filter(has_text="Ceiling lamp")).not_to_have_count(0)


async def connect_stream(walk: Walk, kind: str) -> None:
    await walk.open("/developers/stream")
    await walk.page.get_by_label("Kind").select_option(kind)
    await walk.page.get_by_role("button", name="Connect").click()


def switch_lamp(gateway: Gateway, *, on: bool) -> None:
    person = gateway.people[ANNA]
    path = (
        "/homeauto/v1.0/light/lighting/addressLocation/plants/ca5a0001-0000-4000-8000-000000000000"
        "/modules/parameter/id/value/ca5a0001-0001-4000-8000-000000000001"
    )
    headers = {"authorization": f"Bearer {person.id_token}", "ocp-apim-subscription-key": gateway.subscription_key}
    with client(gateway.base_url) as web:
        answer = web.post(path, json={"status": "on" if on else "off"}, headers=headers)
    assert answer.status_code == 200, answer.text


async def paste(walk: Walk, token: str) -> None:
    await walk.page.get_by_label("Token", exact=True).fill(token)


async def test_a_token_is_inspected_without_leaving_the_page(chromium: Browser, demo: Gateway) -> None:
    token = demo.people[ANNA].access_token
    header, claims, signature = token.split(".")
    sent: list[str] = []
    async with visit(chromium, demo) as walk:
        walk.page.on("request", lambda request: sent.append(f"{request.url} {request.headers} {request.post_data}"))
        await walk.open("/developers/token")
        await paste(walk, token)
        assert await walk.shows("The token is valid")
        assert await walk.shows(f"{demo.base_url}/auth")
        await paste(walk, f"{header}.{claims}.{signature[:-4]}AAAA")
        assert await walk.shows("Wrong signature")
        await paste(walk, "eyJhbGciOiJub25lIn0.e30.")
        for words in ("Another issuer", "Wrong algorithm", "expired"):
            assert await walk.shows(words)
        await paste(walk, demo.subscription_key)
        assert await walk.shows("This is not a signed token")
        assert sent
        assert not [request for request in sent if signature[:20] in request or demo.subscription_key in request]


async def test_a_webhook_is_received_and_its_signature_verified(chromium: Browser, demo: Gateway) -> None:
    async with visit(chromium, demo, who=ANNA) as walk:
        page = walk.page
        await page.clock.install()
        await walk.open("/developers/webhooks")
        await page.get_by_label("Home").select_option(label="Casa Bianchi")
        await page.get_by_role("button", name="Make a receiver and register a webhook").click()
        await page.get_by_role("button", name="Switch a lamp or plug").click()
        delivery = (
            page.get_by_role("list", name="Look at the delivery").get_by_role("listitem").filter(has_text="domogate.state")
        )
        await expect(delivery.first).to_contain_text("The signature is right")
        await expect(delivery.first).to_be_in_viewport()
        await expect(delivery.first).to_contain_text("webhook-signature: v1,")
        await page.get_by_label("Secret of the webhook").fill("whsec_AAAA")
        await expect(delivery.first).to_contain_text("The signature is wrong")
        assert await walk.shows("The test stays while you look at other pages in this tab.")
        await page.get_by_role("link", name="Errors").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Errors")
        await page.get_by_role("link", name="Webhook tester").click()
        await expect(page.get_by_label("Home")).to_have_value("ca5a0001-0000-4000-8000-000000000000")
        await expect(page.get_by_label("Secret of the webhook")).to_have_value("whsec_AAAA")
        await expect(delivery.first).to_contain_text("The signature is wrong")
        assert await page.evaluate("localStorage.length + sessionStorage.length") == 0
        async with page.expect_response(
            lambda answer: answer.request.method == "DELETE" and "/receivers/" in answer.url
        ) as closed:
            await page.clock.fast_forward(601_000)  # the receiver ends after ten minutes
        assert (await closed.value).status == 204
        assert await walk.shows("The receiver has ended.")
        await expect(delivery.first).to_be_visible()
        await page.get_by_role("button", name="Begin again").click()
        await expect(page.get_by_text("Waiting for the first delivery")).to_be_visible()
        await expect(page.get_by_label("Secret of the webhook")).not_to_have_value("whsec_AAAA")
