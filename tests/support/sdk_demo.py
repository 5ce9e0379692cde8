"""The demo with an operator, a receiver of webhooks, an MQTT broker, and everything else that the calls need."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from domogate.app import Tools
from domogate.domain.authorization import Session
from domogate.domain.ids import new_id
from domogate.domain.passkeys import Passkey, UsedChallenge
from domogate.domain.people import DEVELOPER_SCOPE, HOME_SCOPE, MANAGE_SCOPE, Client, Grant, Scope, TokenKind, User
from support.gateway import Gateway, running, start
from support.http import KEY_HEADER
from support.mosquitto import Mosquitto, mosquitto
from support.receivers import ThreadedReceiver
from support.sdk_calls import ANNA, BRUNO, ELENA, FABIO, Call
from support.store_access import run_with_tools

_NAME = re.compile(r"\{(\w+)\}")
_CONSOLE = Client("console", "Console", None, scopes=(MANAGE_SCOPE, HOME_SCOPE, DEVELOPER_SCOPE, Scope.AUDIOVIDEO_READ))


class SdkDemo:
    """Knows the credentials of each call, and the values that answers gave."""

    def __init__(self, gateway: Gateway, receiver: ThreadedReceiver, broker: Mosquitto) -> None:
        self.gateway = gateway
        # A pattern for rooms has a name in braces, too. It stays as it is.
        self.known: dict[str, str] = {
            "receiver": receiver.url, "broker": f"mqtt://127.0.0.1:{broker.port}", "room": "{room}",
        }  # fmt: skip
        self._tokens = run_with_tools(gateway, self._prepare)

    @staticmethod
    async def _prepare(tools: Tools) -> dict[str, str]:
        """Make Elena an operator, and give Fabio and Anna what is removed later. Returns tokens of our own surfaces."""
        now = tools.clock.now()
        elena, fabio, anna, bruno = [await tools.store.find_user_by_email(email) for email in (ELENA, FABIO, ANNA, BRUNO)]
        assert elena is not None
        assert anna is not None
        assert bruno is not None
        assert fabio is not None
        await tools.people.set_operator(elena.id, True)
        await tools.store.save_client(_CONSOLE)
        await tools.store.save_client(Client("old-app", "Old app"))
        await tools.store.add_grant(Grant(new_id(), anna.id, "old-app", ("light.read",), created_at=now))
        await tools.people.change_user(fabio.id, lambda user: msgspec.structs.replace(user, totp_secret="A" * 16))
        await tools.store.bind_external_account("https://id.example", "fabio-at-id", fabio.email, now)
        await tools.store.add_grant(Grant(new_id(), fabio.id, "demo-app", ("light.read",), created_at=now))
        session = Session(new_id(), new_id(), fabio.id, now, now, now, now + 3600, address="192.0.2.1", agent="A browser")
        await tools.store.add_session(session)
        passkey = Passkey(new_id(), fabio.id, new_id(), new_id(), new_id(), 0, "Phone", now)
        assert await tools.store.add_passkey(passkey, UsedChallenge(new_id(), now + 60), session.id)

        async def mint(user: User) -> str:
            grant = Grant(new_id(), user.id, _CONSOLE.id, _CONSOLE.scopes, created_at=now)
            await tools.store.add_grant(grant)
            return await (await tools.open_signer()).mint_token(TokenKind.ACCESS, user, _CONSOLE, grant)

        return {user.email: await mint(user) for user in (elena, anna, bruno)}

    def headers_for(self, call: Call) -> dict[str, str]:
        if call.document == "management":
            return {"Authorization": f"Bearer {self._tokens[ELENA]}"}
        if call.document in ("home", "developer"):
            return {"Authorization": f"Bearer {self._tokens[call.who]}"}
        if call.document == "tickets":
            return {"Authorization": f"Bearer {self.known['pictureToken']}"} if call.operation == "picture" else {}
        person = self.gateway.people[call.who]
        token = person.access_token if call.document == "homectl" else person.id_token
        return {KEY_HEADER: self.gateway.subscription_key, "Authorization": f"Bearer {token}"}

    def fill(self, value: Any) -> Any:
        """The value with the names in braces replaced."""
        if isinstance(value, str):
            return _NAME.sub(lambda name: str(self.known[name[1]]), value)
        if isinstance(value, Mapping):
            return {name: self.fill(inner) for name, inner in value.items()}
        return [self.fill(inner) for inner in value] if isinstance(value, list) else value

    def keep(self, call: Call, answer: Any) -> None:
        for name, place in call.keep.items():
            found = answer
            for step in place.split("."):
                found = found[int(step)] if step.isdigit() else found[step]
            self.known[name] = found


@contextmanager
def open_sdk_demo(folder: Path) -> Iterator[SdkDemo]:
    receiver = ThreadedReceiver()
    with mosquitto(folder) as broker, running(start("demo", folder)) as gateway:
        yield SdkDemo(gateway, receiver, broker)
    receiver.close()
