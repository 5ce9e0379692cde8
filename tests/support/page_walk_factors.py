"""The part of the walk through the pages that shows second factors and passkeys."""

from domogate.auth.pages.passkeys import NOTICES as PASSKEY_NOTICES
from domogate.domain.passkeys import MOST_PASSKEYS, UsedChallenge
from support.auth_setup import SECRET
from support.browser_tab import add_device
from support.page_actions import DORA, NEW, PageActions
from support.stores import BRUNO, CARLA, HOUSE, a_passkey


class FactorPages(PageActions):
    async def second_factor(self) -> None:
        await self.log_in(BRUNO.email)
        await self.stop("code", "code.title")
        await self.send(code="000000")
        await self.stop("code-wrong", "code.title")
        for _ in range(6):
            await self.send(code="000000")
        await self.stop("code-throttled", "code.title")
        self.setup.clock.at += 300
        await self.send(code=self.setup.code())
        await self.stop("account-shared-plant", "account.greeting", name="Bruno")
        await self.open(f"/auth/account/plants/leave?plant={HOUSE.id}")
        await self.stop("leave-plant", "leave.title", plant=HOUSE.name)
        self.setup.clock.at += 300
        await self.open("/auth/account/second-factor")
        await self.stop("second-factor-switch-off", "switch_off.title")
        await self.send(current="not it")
        await self.stop("second-factor-switch-off-wrong", "switch_off.title")

    async def passkeys(self) -> None:
        path, title, hello = "/auth/account/passkeys", "passkeys.title", "account.greeting"
        await add_device(self.page)
        await self.log_in(CARLA.email, NEW)
        await self.open(path)
        await self.stop("passkeys-none", title)
        await self.send(path)
        await self.stop("recovery-codes-first", "recovery.title")
        for notice in sorted(PASSKEY_NOTICES):
            await self.open(f"{path}?done={notice}")
            await self.stop(f"passkeys-{notice}", title)
        await self.open("/auth/account")
        await self.stop("account-passkey", hello, name=CARLA.name)
        await self.open("/auth/account/recovery-codes")
        await self.stop("recovery-codes-renew", "recovery.title")
        self.setup.clock.at += 300
        await self.open("/auth/account/recovery-codes")
        await self.send(current="not it")
        await self.stop("recovery-codes-renew-wrong", "recovery.title")
        await self.open(path)
        await self.page.locator("#current").fill(NEW)
        await self.page.get_by_role("button").click()
        await self.page.locator("[data-problem=InvalidStateError]").wait_for()
        await self.stop("passkeys-known-device", title)
        (passkey,) = await self.setup.store.list_passkeys(CARLA.id)
        await self.open(f"{path}/change?passkey={passkey.id}")
        await self.stop("passkey", "passkeys.one_title")
        await self.send(f"{path}/change", name="")
        await self.stop("passkey-without-name", "passkeys.one_title")
        await self.send(f"{path}/remove", current="not it")
        await self.stop("passkey-wrong-password", "passkeys.one_title")
        await self.log_in(CARLA.email, NEW)
        await self.stop("code-passkey", "code.title_passkey")
        await self.send("/auth/login/code/passkey")
        await self.stop("account-by-passkey", hello, name=CARLA.name)
        session, *_ = await self.setup.store.list_sessions(CARLA.id)
        for number in range(1, MOST_PASSKEYS):
            challenge = UsedChallenge(str(number), self.setup.clock.now())
            await self.setup.store.add_passkey(a_passkey(number, CARLA), challenge, session.id)
        await self.open(path)
        await self.stop("passkeys-full", title)
        await self.setup.change(CARLA, totp_secret=SECRET)
        await self.open("/auth/account")
        await self.stop("account-passkey-and-app", hello, name=CARLA.name)
        await self.open("/auth/account/second-factor")
        await self.stop("second-factor-beside-passkey", "switch_off.title")
        await self.log_in(CARLA.email, NEW)
        await self.stop("code-or-passkey", "code.title")
        await self.page.context.clear_cookies()
        await self.open("/auth/login")
        await self.send("/auth/login/passkey")
        await self.setup.store.remove_passkeys(CARLA.id)
        await self.page.context.clear_cookies()
        await self.open("/auth/login")
        await self.send("/auth/login/passkey")
        await self.stop("login-removed-passkey", "login.title")

    async def demanded_second_factor(self) -> None:
        self.setup.sessions.second_factor_required = True
        await self.log_in(DORA.email)
        await self.stop("demanded-set-up", "set_up.title")
        await self.send(code="000000")
        await self.stop("demanded-set-up-wrong", "set_up.title")
        secret = await self.page.locator('[name="secret"]').input_value()
        await self.send(code=self.setup.code(secret))
        await self.stop("recovery-codes", "recovery.title")
        await self.page.locator("main a.primary").click()
        await self.stop("demanded-account", "account.title")
        await self.open("/auth/account/second-factor")
        await self.stop("demanded-switch-off", "switch_off.title")
        self.setup.clock.at += 60
        await self.log_in(DORA.email)
        await self.stop("demanded-code", "code.title")
        await self.send(code=self.setup.code(secret))
        await self.stop("demanded-account-again", "account.title")
