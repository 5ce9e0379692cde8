"""The audit log has the address of every action on the pages."""

import pytest

from domogate.domain.people import Standing
from support.pages import ADDRESS, ANNA, BRUNO, HOUSE, PASSWORD, SECRET, House, Visitor

NEW = "three purple umbrellas"
ACCOUNT = "/auth/account"


async def set_by_link(visitor: Visitor, home: House) -> None:
    await visitor.get(await home.link(ANNA))
    await visitor.send(password=NEW, repeated=NEW)


async def change_password(visitor: Visitor, home: House) -> None:
    await visitor.log_in()
    await visitor.get(f"{ACCOUNT}/password")
    await visitor.send(current=PASSWORD, password=NEW, repeated=NEW)


async def accept_terms(visitor: Visitor, home: House) -> None:
    await home.set_standing(ANNA, Standing.TERMS_EXPIRED)
    await visitor.log_in()
    await visitor.get(ACCOUNT)
    await visitor.send(f"{ACCOUNT}/terms", accept="yes")


async def revoke(visitor: Visitor, home: House) -> None:
    await home.let_in(ANNA)
    await visitor.log_in()
    await visitor.get(ACCOUNT)
    await visitor.send(f"{ACCOUNT}/applications/revoke")


async def leave(visitor: Visitor, home: House) -> None:
    await visitor.log_in(BRUNO.email)
    await visitor.get(f"{ACCOUNT}/plants/leave?plant={HOUSE.id}")
    await visitor.send()


async def end_another_session(visitor: Visitor, home: House) -> None:
    await home.sessions.log_in(ANNA.email, PASSWORD, None, "192.0.2.8", "")
    await visitor.log_in()
    await visitor.get(ACCOUNT)
    await visitor.send(f"{ACCOUNT}/sessions/end")


async def log_out(visitor: Visitor, home: House) -> None:
    await visitor.log_in()
    await visitor.get(ACCOUNT)
    await visitor.send(f"{ACCOUNT}/logout")


async def switch_on(visitor: Visitor, home: House) -> None:
    await visitor.log_in()
    await visitor.get(f"{ACCOUNT}/second-factor")
    await visitor.send(code=home.code(SECRET), secret=SECRET)


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
async def test_an_entry_says_from_where(visitor: Visitor, home: House, action: str, do: object) -> None:
    assert callable(do)
    await do(visitor, home)
    await home.audit.flush()
    entries = [record.entry for record in await home.audit.list(limit=100)]
    assert [entry.address for entry in entries if entry.action == action] == [ADDRESS]
    assert all(entry.address for entry in entries)
