"""The audit log has the address of every action on the pages."""

import pytest

from domogate.domain.people import Standing
from support.auth_setup import ADDRESS, PASSWORD, SECRET, AuthSetup, PageBrowser
from support.stores import ANNA, BRUNO, HOUSE

pytestmark = pytest.mark.slow

NEW = "three purple umbrellas"
ACCOUNT = "/auth/account"


async def set_by_link(browser: PageBrowser, setup: AuthSetup) -> None:
    await browser.get(await setup.link(ANNA))
    await browser.send(password=NEW, repeated=NEW)


async def change_password(browser: PageBrowser, setup: AuthSetup) -> None:
    await browser.log_in()
    await browser.get(f"{ACCOUNT}/password")
    await browser.send(current=PASSWORD, password=NEW, repeated=NEW)


async def accept_terms(browser: PageBrowser, setup: AuthSetup) -> None:
    await setup.set_standing(ANNA, Standing.TERMS_EXPIRED)
    await browser.log_in()
    await browser.get(f"{ACCOUNT}/terms")
    await browser.send(f"{ACCOUNT}/terms", accept="yes")


async def revoke(browser: PageBrowser, setup: AuthSetup) -> None:
    await setup.grant_access(ANNA)
    await browser.log_in()
    await browser.get(ACCOUNT)
    await browser.send(f"{ACCOUNT}/applications/revoke")


async def leave(browser: PageBrowser, setup: AuthSetup) -> None:
    await browser.log_in(BRUNO.email)
    await browser.get(f"{ACCOUNT}/plants/leave?plant={HOUSE.id}")
    await browser.send()


async def end_another_session(browser: PageBrowser, setup: AuthSetup) -> None:
    await setup.sessions.log_in(ANNA.email, PASSWORD, None, "192.0.2.8", "")
    await browser.log_in()
    await browser.get(ACCOUNT)
    await browser.send(f"{ACCOUNT}/sessions/end")


async def log_out(browser: PageBrowser, setup: AuthSetup) -> None:
    await browser.log_in()
    await browser.get(ACCOUNT)
    await browser.send(f"{ACCOUNT}/logout")


async def switch_on(browser: PageBrowser, setup: AuthSetup) -> None:
    await browser.log_in()
    await browser.get(f"{ACCOUNT}/second-factor")
    await browser.send(code=setup.code(SECRET), secret=SECRET)


DONE = {
    "password set": (set_by_link, change_password),
    "terms accepted": (accept_terms,),
    "revocation": (revoke,),
    "left": (leave,),
    "session ended": (end_another_session,),
    "logout": (log_out,),
    "second factor changed": (switch_on,),
}


@pytest.mark.parametrize(
    ("action", "do"), [pytest.param(action, do, id=do.__name__) for action, doings in DONE.items() for do in doings]
)
async def test_an_entry_says_from_where(browser: PageBrowser, setup: AuthSetup, action: str, do: object) -> None:
    assert callable(do)
    await do(browser, setup)
    await setup.audit.flush()
    entries = [record.entry for record in await setup.audit.list(limit=100)]
    assert {entry.address for entry in entries if entry.action == action} == {ADDRESS}
    assert all(entry.address for entry in entries)
