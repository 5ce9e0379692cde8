"""A forgotten password: accounts get a link by mail, and the page is the same for everybody."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from domogate.domain.people import User
from support.auth_setup import ADDRESS, PASSWORD, SECRET, AuthSetup, PageBrowser, heading_of, open_auth_setup
from support.edge_server import serving
from support.forms import forms_of
from support.people_setup import LINK_LIFETIME
from support.stores import ANNA, BRUNO, CARLA

pytestmark = pytest.mark.slow

FORGOTTEN = "/auth/login/forgotten"
NOBODY = "nobody@example.com"
NEW = "three purple umbrellas"


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[AuthSetup]:
    async with open_auth_setup(tmp_path, mails_links=True) as built:
        yield built


async def ask(browser: PageBrowser, email: str = ANNA.email) -> httpx.Response:
    await browser.get(FORGOTTEN)
    return await browser.send(FORGOTTEN, email=email)


def mailed_path(setup: AuthSetup) -> str:
    """The link of the last mail, as the browser opens it."""
    link = setup.mail.sent[-1][2]
    assert link is not None
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


async def audited(setup: AuthSetup) -> list[tuple[str, str, str]]:
    """Actor, result and address of the audit entries about links, the oldest first."""
    await setup.audit.flush()
    entries = [record.entry for record in await setup.audit.list(limit=100)]
    return [(entry.who, entry.result, entry.address) for entry in entries if entry.action == "link issued"]


class TestTheWayThere:
    async def test_is_on_the_login_page_and_keeps_where_the_person_was_going(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        await browser.get(setup.authorize_path())
        login = (await browser.follow()).text
        path = httpx.QueryParams({"return_to": setup.authorize_path()})
        assert f'href="{FORGOTTEN}?return_to=' in login
        page = await browser.get(f"{FORGOTTEN}?{path}")
        assert heading_of(page.text) == "Forgotten your password?"
        assert forms_of(page.text)[0].fields["return_to"] == setup.authorize_path()
        sent = await browser.send(FORGOTTEN, email=ANNA.email)
        assert 'href="/auth/login?return_to=%2Fauth%2Fauthorize' in sent.text

    async def test_never_leads_elsewhere_afterwards(self, browser: PageBrowser) -> None:
        await browser.get(FORGOTTEN)
        sent = await browser.send(FORGOTTEN, email=ANNA.email, return_to="https://evil.example/")
        assert "evil.example" not in sent.text

    @pytest.mark.parametrize(
        ("language", "title"),
        [("it", "Hai dimenticato la password?"), ("de", "Passwort vergessen?"), ("fr", "Mot de passe oublié ?")],
    )
    async def test_speaks_the_persons_language(self, setup: AuthSetup, language: str, title: str) -> None:
        browser = PageBrowser(setup.app(), setup.base_url, **{"accept-language": language})
        async with browser.http:
            assert heading_of((await browser.get(FORGOTTEN)).text) == title
            sent = await browser.send(FORGOTTEN, email=ANNA.email)
            assert f'<html lang="{language}">' in sent.text

    async def test_a_link_that_is_too_old_leads_there_too(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await ask(browser)
        setup.clock.at += LINK_LIFETIME
        dead = await browser.get(mailed_path(setup))
        assert dead.status_code == 410
        assert f'href="{FORGOTTEN}"' in dead.text


class TestTheLink:
    async def test_is_mailed_and_sets_a_new_password(self, browser: PageBrowser, setup: AuthSetup) -> None:
        sent = await ask(browser)
        assert (sent.status_code, heading_of(sent.text)) == (200, "Check your mailbox")
        assert [(what, email) for what, email, _ in setup.mail.sent] == [("password", ANNA.email)]
        page = await browser.get(mailed_path(setup))
        assert heading_of(page.text) == "Choose a new password"
        await browser.send(password=NEW, repeated=NEW)
        browser.http.cookies.clear()
        assert (await browser.log_in(password=PASSWORD)).status_code == 403
        assert (await browser.log_in(password=NEW)).status_code == 303

    async def test_is_not_shown_on_the_page(self, browser: PageBrowser, setup: AuthSetup) -> None:
        sent = await ask(browser)
        assert mailed_path(setup).partition("token=")[2] not in sent.text

    async def test_changes_nothing_until_it_is_used(self, browser: PageBrowser) -> None:
        await ask(browser)
        assert (await browser.log_in()).status_code == 303

    async def test_does_not_get_around_the_second_factor(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await setup.change(ANNA, totp_secret=SECRET)
        await ask(browser)
        await browser.get(mailed_path(setup))
        await browser.send(password=NEW, repeated=NEW)
        answer = await browser.log_in(password=NEW)
        assert urlsplit(answer.headers["location"]).path == "/auth/login/code"
        assert not browser.cookie

    @pytest.mark.parametrize("email", [NOBODY, CARLA.email])
    async def test_is_not_made_for_an_account_without_a_password(
        self, browser: PageBrowser, setup: AuthSetup, email: str
    ) -> None:
        assert (await ask(browser, email)).status_code == 200
        assert setup.mail.sent == []
        assert not (await setup.user(CARLA)).active

    async def test_is_found_by_the_email_in_any_case(self, browser: PageBrowser, setup: AuthSetup) -> None:
        await ask(browser, f" {ANNA.email.upper()} ")
        assert [email for _, email, _ in setup.mail.sent] == [ANNA.email]


class CallRecorder:
    """Records the calls of the store, the hasher and the mail, and when the response was sent."""

    ANSWERED = "answered"

    def __init__(self, setup: AuthSetup, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines: list[str] = []
        for part in (setup.store, setup.env.hasher, setup.mail):
            for name in dir(part):
                if not name.startswith("_") and asyncio.iscoroutinefunction(getattr(part, name)):
                    monkeypatch.setattr(part, name, self._noting(name, getattr(part, name)))

    def _noting(self, name: str, work: Any) -> Any:
        async def noted(*args: Any, **named: Any) -> Any:
            self.lines.append(name)
            return await work(*args, **named)

        return noted

    def watch(self, app: Any) -> Any:
        async def watched(scope: Any, receive: Any, send: Any) -> None:
            async def noting_send(message: Any) -> None:
                await send(message)
                if message["type"] == "http.response.body" and not message.get("more_body"):
                    self.lines.append(self.ANSWERED)

            await app(scope, receive, noting_send)

        return watched

    def take(self) -> tuple[list[str], list[str]]:
        """The calls before the last response, and after it."""
        place = self.lines.index(self.ANSWERED)
        before, after = self.lines[:place], self.lines[place + 1 :]
        self.lines.clear()
        return before, after


class TestNobodyLearnsWhoHasAnAccount:
    async def test_the_answer_is_the_same_for_everybody(self, browser: PageBrowser) -> None:
        answers = []
        for email in (ANNA.email, NOBODY, CARLA.email, "no e-mail at all"):
            answer = await ask(browser, email)
            headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
            answers.append((answer.status_code, headers, answer.text.replace(email, "EMAIL")))
        assert all(answer == answers[0] for answer in answers)

    async def test_it_is_given_before_anybody_is_looked_up(self, setup: AuthSetup, monkeypatch: pytest.MonkeyPatch) -> None:
        """Before every response the gateway does the same work: it counts attempts. So every response takes the same time."""
        calls = CallRecorder(setup, monkeypatch)
        browser = PageBrowser(calls.watch(setup.app()), setup.base_url)
        work: dict[str, tuple[list[str], list[str]]] = {}
        async with browser.http:
            for email in (ANNA.email, NOBODY, CARLA.email):
                await browser.get(FORGOTTEN)
                calls.lines.clear()
                await browser.send(FORGOTTEN, email=email)
                work[email] = calls.take()
        assert [before for before, _ in work.values()] == [["admit_attempt"]] * 3
        assert "send" in work[ANNA.email][1]  # the recorder does see the calls
        assert work[NOBODY][1] == work[CARLA.email][1] == ["find_user_by_email"]

    async def test_a_slow_mail_server_keeps_no_answer_back(self, setup: AuthSetup, monkeypatch: pytest.MonkeyPatch) -> None:
        """Over a real socket: if the mail were sent first, the response would never arrive."""
        answered, delivered = asyncio.Event(), asyncio.Event()

        async def wait_for_the_answer(*_: Any) -> bool:
            await answered.wait()
            delivered.set()
            return True

        monkeypatch.setattr(setup.mail, "send", wait_for_the_answer)
        async with serving(setup.app()) as gateway:
            http = httpx.AsyncClient(base_url=f"http://127.0.0.1:{gateway.port}", trust_env=False, timeout=30)
            async with http:
                page = await http.get(FORGOTTEN)
                # The cookie is for https only, but the test uses http.
                cookie = page.headers["set-cookie"].partition(";")[0]
                fields = forms_of(page.text)[0].fields | {"email": ANNA.email}
                sent = await http.post(FORGOTTEN, data=fields, headers={"cookie": cookie})
                assert heading_of(sent.text) == "Check your mailbox"
                assert not delivered.is_set()
                # Meanwhile the connection serves the next request.
                assert (await http.get(FORGOTTEN)).status_code == 200
                answered.set()
                await asyncio.wait_for(delivered.wait(), 30)


class TestAskingTooOften:
    @pytest.mark.parametrize("email", [ANNA.email, NOBODY])
    async def test_about_one_account_is_slowed_down_whether_or_not_there_is_one(
        self, browser: PageBrowser, setup: AuthSetup, email: str
    ) -> None:
        assert [(await ask(browser, email)).status_code for _ in range(4)] == [200, 200, 200, 429]
        assert browser.answer.headers["retry-after"] == "60"
        assert "Too many attempts. Try again in 60 seconds." in browser.answer.text
        assert forms_of(browser.answer.text)[0].fields["email"] == email
        assert len(setup.mail.sent) == (3 if email == ANNA.email else 0)
        setup.clock.at += 60
        assert (await ask(browser, email)).status_code == 200

    async def test_from_one_address_is_slowed_down(self, browser: PageBrowser, setup: AuthSetup) -> None:
        statuses = [(await ask(browser, f"person{number}@example.com")).status_code for number in range(101)]
        assert statuses == [200] * 100 + [429]

    async def test_keeps_nobody_from_logging_in(self, browser: PageBrowser) -> None:
        for _ in range(5):
            await ask(browser)
        assert (await browser.log_in()).status_code == 303

    async def test_wrong_passwords_keep_nobody_from_asking(self, browser: PageBrowser) -> None:
        for _ in range(6):
            await browser.log_in(password="not it")
        assert browser.answer.status_code == 429
        assert (await ask(browser)).status_code == 200


class TestRefusals:
    @pytest.mark.parametrize("token", ["", "wrong", None])
    async def test_a_form_that_another_site_made_comes_to_nothing(
        self, browser: PageBrowser, setup: AuthSetup, token: str | None
    ) -> None:
        await browser.get(FORGOTTEN)
        assert (await browser.send(FORGOTTEN, email=ANNA.email, csrf=token)).status_code == 400
        assert setup.mail.sent == []

    @pytest.mark.parametrize("email", ["", "   "])
    async def test_an_email_must_be_there(self, browser: PageBrowser, email: str) -> None:
        answer = await ask(browser, email)
        assert answer.status_code == 400
        assert '<a href="#email">Enter your e-mail.</a>' in answer.text

    async def test_typed_text_is_never_markup(self, browser: PageBrowser) -> None:
        assert "<script" not in (await ask(browser, "<script>alert(1)</script>")).text

    async def test_a_very_long_email_is_cut(self, browser: PageBrowser) -> None:
        assert "x" * 255 not in (await ask(browser, "x" * 1000)).text


class TestWithoutMail:
    @pytest.fixture
    async def setup(self, tmp_path: Path) -> AsyncIterator[AuthSetup]:
        async with open_auth_setup(tmp_path) as built:
            yield built

    async def test_the_page_says_whom_to_ask_and_has_no_form(self, browser: PageBrowser) -> None:
        page = await browser.get(FORGOTTEN)
        assert page.status_code == 200
        assert "Ask the operator of this gateway" in page.text
        assert forms_of(page.text) == []

    async def test_a_form_that_is_sent_all_the_same_makes_no_link(
        self, browser: PageBrowser, setup: AuthSetup, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        token = forms_of((await browser.get("/auth/login")).text)[0].fields["csrf"]
        calls = CallRecorder(setup, monkeypatch)
        answer = await browser.http.post(FORGOTTEN, data={"csrf": token, "email": ANNA.email})
        assert answer.status_code == 403
        assert "Ask the operator of this gateway" in answer.text
        assert calls.lines == []

    async def test_a_dead_link_leads_to_the_operator(self, browser: PageBrowser) -> None:
        page = await browser.get("/auth/password/unknown")
        assert "Ask the operator of this gateway for a new link." in page.text
        assert FORGOTTEN not in page.text


class TestAudit:
    async def who_is(self, setup: AuthSetup, user: User) -> str:
        return f"user:{await setup.audit.find_pseudonym(user.id)}"

    async def test_says_for_whom_and_from_where_and_not_that_they_proved_who_they_are(
        self, browser: PageBrowser, setup: AuthSetup
    ) -> None:
        await ask(browser)
        assert await audited(setup) == [("nobody", "ok", ADDRESS)]
        (record,) = [it for it in await setup.audit.list(limit=100) if it.entry.action == "link issued"]
        assert (record.entry.what, record.entry.detail) == (await self.who_is(setup, ANNA), {"mailed": "yes"})

    async def test_has_what_was_refused(self, browser: PageBrowser, setup: AuthSetup) -> None:
        for email in (NOBODY, CARLA.email, BRUNO.email, BRUNO.email, BRUNO.email, BRUNO.email):
            await ask(browser, email)
        results = [result for _, result, _ in await audited(setup)]
        assert results == ["wrong", "refused", "ok", "ok", "ok", "slowed"]
        texts = [str(record) for record in await setup.audit.list(limit=100)]
        assert not any("@" in text for text in texts)

    async def test_has_a_mail_that_could_not_be_sent(self, browser: PageBrowser, setup: AuthSetup) -> None:
        setup.mail.failure = OSError(f"{ANNA.email} is not known here")
        assert (await ask(browser)).status_code == 200
        assert await audited(setup) == [("nobody", "failed", ADDRESS)]
