"""A walk through all pages in all states, in any language. A callback looks at each stop."""

import asyncio

import msgspec

from domogate.auth.pages.account import NOTICES
from domogate.auth.pages.guests import NOTICES as PEOPLE_NOTICES
from domogate.domain.authorization import LinkPurpose
from domogate.domain.ids import new_id
from domogate.domain.people import MANAGE_SCOPE, Standing
from domogate.domain.plants import Member
from domogate.ports import MailKind
from domogate.services.authorization.consents import MOST_CHOSEN
from support.auth_setup import PASSWORD, SCOPES, SECRET, TERMS
from support.page_actions import DORA, NEW, NEW_EMAIL
from support.page_walk_invitations import InvitationPages
from support.people_setup import BASE_URL, LINK_LIFETIME
from support.stores import ANNA, BRUNO, CARLA, HOUSE, add_home


class PageWalk(InvitationPages):
    """Visits all pages with one tab."""

    async def walk(self) -> None:
        """All pages of a gateway with mail and terms."""
        await self.prepare()
        await self.logging_in()
        await self.forgotten_password()
        await self.links()
        await self.account()
        await self.people()
        await self.invitation_links()
        await self.consent()
        await self.second_factor()
        await self.passkeys()
        await self.nothing_yet()
        await self.demanded_second_factor()
        await self.deletion()

    async def walk_without(self) -> None:
        """The pages that differ on a gateway without mail and terms."""
        await self.open("/auth/login/forgotten")
        await self.stop("forgotten-without-mail", "forgotten.title")
        await self.open("/auth/password/used-up")
        await self.stop("link-used-without-mail", "link.used_title")
        await self.setup.set_standing(ANNA, Standing.TERMS_EXPIRED)
        await self.log_in(ANNA.email)
        await self.stop("account-terms-without-text", "account.greeting", name="Anna")
        await self.open("/auth/account/email")
        await self.stop("email-without-mail", "email.title")
        await self.open("/auth/account/passkeys")
        await self.stop("passkeys-not-here", "passkeys.title")

    async def walk_terms_elsewhere(self) -> None:
        """The pages that differ on a gateway with pages at /, whose terms are at another address."""
        await self.setup.set_standing(ANNA, Standing.TERMS_EXPIRED)
        await self.log_in(ANNA.email)
        await self.open("/auth/account/terms")
        await self.stop("terms-elsewhere", "terms.title")
        await self.open("/auth/acount")
        await self.stop("not-found-with-a-door", "not_found.title")
        _, url = await self.setup.people.make_invitation_link(HOUSE.id, "", None, user_id=ANNA.id)
        await self.open(url.removeprefix(BASE_URL))
        await self.stop("invitation-of-the-owner-with-a-door", "invitation.title", plant=HOUSE.name)

    async def prepare(self) -> None:
        setup = self.setup
        await setup.grant_access(ANNA, *SCOPES)
        await setup.grant_access(ANNA, "light.read", plants=frozenset({HOUSE.id}))
        await setup.grant_access(ANNA, "plug.read", plants=frozenset({new_id()}))
        await setup.add_webhook(ANNA)
        await setup.set_standing(ANNA, Standing.BOTH_EXPIRED)
        await setup.set_standing(BRUNO, Standing.GOOD)
        await setup.change(BRUNO, totp_secret=SECRET)
        await setup.store.save_user(msgspec.structs.replace(DORA, password_hash=await setup.env.hasher.hash_password(PASSWORD)))
        await setup.sessions.log_in(ANNA.email, PASSWORD, None, "192.0.2.8", "")
        firefox = "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0"
        await setup.sessions.log_in(ANNA.email, PASSWORD, None, "2001:db8:85a3:1234:5678:8a2e:370:7334", firefox)

    async def logging_in(self) -> None:
        await self.open("/auth/login")
        await self.stop("login", "login.title")
        await self.send(email="", password="")
        await self.stop("login-empty", "login.title")
        await self.send(email=ANNA.email, password="not it")
        await self.stop("login-wrong", "login.title")
        await self.page.context.clear_cookies()
        await self.send(email=ANNA.email, password=PASSWORD)
        await self.stop("login-stale", "login.title")
        await self.guess_often("guessed@example.com")
        await self.send(email="guessed@example.com", password="not it")
        await self.stop("login-throttled", "login.title")
        await self.open(self.setup.authorize_path())
        await self.stop("login-for-an-application", "login.title")
        await self.open("/auth/authorize?client_id=unknown")
        await self.stop("error", "error.title")

    async def forgotten_password(self) -> None:
        await self.open("/auth/login/forgotten")
        await self.stop("forgotten", "forgotten.title")
        await self.send(email="")
        await self.stop("forgotten-empty", "forgotten.title")
        await self.send(email=ANNA.email)
        await self.stop("forgotten-sent", "forgotten.sent_title")
        for _ in range(4):
            await self.open("/auth/login/forgotten")
            await self.send(email="asked-often@example.com")
        await self.stop("forgotten-throttled", "forgotten.title")

    async def links(self) -> None:
        for user, purpose, title in (
            (CARLA, LinkPurpose.OPERATOR, "link.operator_title"),
            (ANNA, LinkPurpose.PASSWORD, "link.renew_title"),
        ):
            await self.open(await self.setup.link(user, purpose))
            await self.stop(title.removesuffix("_title").replace(".", "-"), title)
        link = await self.setup.link(CARLA)
        await self.open(link)
        await self.stop("link-first", "link.first_title")
        await self.send(password="password1234", repeated="password1234")
        await self.stop("link-common-password", "link.first_title")
        await self.send(password=NEW, repeated="another one")
        await self.stop("link-differing-passwords", "link.first_title")
        await self.guess_often(CARLA.email)
        await self.send(password=NEW, repeated=NEW)
        await self.stop("link-password-is-set", "link.set_title")
        await self.open(link)
        await self.stop("link-used", "link.used_title")
        old = await self.setup.link(ANNA)
        await self.open((self.setup.people.offer_first_operator().url or "").removeprefix(BASE_URL))
        await self.stop("first-operator", "link.claim_title")
        await self.send(email="olga", password=NEW, repeated=NEW)
        await self.stop("first-operator-no-email", "link.claim_title")
        self.setup.clock.at += LINK_LIFETIME
        await self.send(email="olga@example.com", password=NEW, repeated=NEW)
        await self.stop("first-operator-expired", "link.expired_title")
        await self.open(old)
        await self.stop("link-expired", "link.expired_title")
        await self.open("/auth/acount")
        await self.stop("not-found", "not_found.title")

    async def account(self) -> None:
        hello = "account.greeting"
        await self.log_in(ANNA.email)
        await self.page.locator("summary").click()
        await self.stop("account-everything-due", hello, name="Anna")
        await self.setup.set_standing(ANNA, Standing.TERMS_EXPIRED)
        await self.open("/auth/account")
        await self.stop("account-terms-due", hello, name="Anna")
        await self.terms()
        await self.setup.set_standing(ANNA, Standing.PASSWORD_EXPIRED)
        await self.open("/auth/account")
        await self.stop("account-password-due", hello, name="Anna")
        await self.setup.set_standing(ANNA, Standing.GOOD)
        for notice in sorted(NOTICES):
            await self.open(f"/auth/account?done={notice}")
            await self.stop(f"account-notice-{notice}", hello, name="Anna")
        await self.details()
        await self.open("/auth/account/password")
        await self.stop("password", "password.title")
        await self.send(current="not it", password=NEW, repeated=NEW)
        await self.stop("password-wrong", "password.title")
        await self.send(current=PASSWORD, password="password1234", repeated="password1234")
        await self.stop("password-common", "password.title")
        await self.guess_often(ANNA.email)
        await self.send(current="not it", password=NEW, repeated=NEW)
        await self.stop("password-throttled", "password.title")
        self.setup.clock.at += 3600
        await self.open("/auth/account/second-factor")
        await self.stop("second-factor-set-up", "set_up.title")
        await self.send(code="000000", current=PASSWORD)
        await self.stop("second-factor-set-up-wrong", "set_up.title")

    async def terms(self) -> None:
        path = "/auth/account/terms"
        await self.open(path)
        await self.stop("terms", "terms.title")
        await self.send(path)
        await self.stop("terms-without-tick", "terms.title")
        await self.page.locator('[name="version"]').evaluate("field => { field.value = 'former' }")
        await self.send(path)
        await self.stop("terms-changed", "terms.title")
        await self.setup.people.accept_terms(ANNA.id, TERMS.version)
        await self.open(path)
        await self.stop("terms-accepted", "terms.title")

    async def details(self) -> None:
        """Name, language, e-mail and deletion of the account."""
        await self.open("/auth/account/profile")
        await self.stop("profile", "profile.title")
        await self.send(name="Anna\a")
        await self.stop("profile-wrong-name", "profile.title")
        path = "/auth/account/email"
        await self.open(path)
        await self.stop("email", "email.title")
        await self.send(email="nobody", current=PASSWORD)
        await self.stop("email-wrong-format", "email.title")
        await self.send(email=ANNA.email, current=PASSWORD)
        await self.stop("email-same", "email.title")
        await self.send(email=NEW_EMAIL, current="not it")
        await self.stop("email-wrong-password", "email.title")
        await self.send(email=NEW_EMAIL, current=PASSWORD)
        await self.stop("email-sent", "email.sent_title")
        link = await self.last_link()
        await self.open(link)
        await self.stop("email-confirm", "email.confirm_title")
        await self.setup.change(DORA, email=NEW_EMAIL)
        await self.send(f"{path}/confirm")
        await self.stop("email-taken", "email.taken_title")
        await self.setup.change(DORA, email=DORA.email)
        await self.open(link)
        await self.stop("email-link-used", "link.used_title")
        await self.open("/auth/account/delete")
        await self.stop("delete-account-of-an-owner", "delete_account.title")

    async def last_link(self) -> str:
        """The path of the link to a new address. It is mailed after the answer."""
        mails = self.setup.mail.mails
        async with asyncio.timeout(60):
            while not mails or mails[-1].kind is not MailKind.EMAIL_LINK:
                await asyncio.sleep(0.01)
        return mails[-1].link.removeprefix(BASE_URL)

    async def deletion(self) -> None:
        """Dora is logged in. Her account is gone afterwards."""
        await self.setup.change(DORA, operator=True)
        await self.open("/auth/account/delete")
        await self.stop("delete-account-of-the-last-operator", "delete_account.title")
        await self.setup.change(ANNA, operator=True)
        await self.open("/auth/account/delete")
        await self.stop("delete-account", "delete_account.title")
        await self.send("/auth/account/delete", current="not it")
        await self.stop("delete-account-wrong-password", "delete_account.title")
        await self.send("/auth/account/delete", current=PASSWORD)
        await self.stop("account-deleted", "delete_account.done_title")

    async def people(self) -> None:
        path, title = "/auth/account/plants/people", {"plant": HOUSE.name}
        for notice in ("", *sorted(PEOPLE_NOTICES)):
            await self.open(f"{path}?plant={HOUSE.id}&done={notice}")
            await self.stop(f"people-{notice or 'plain'}", "guests.title", **title)
        await self.send(path, email="nobody")
        await self.stop("people-wrong-email", "guests.title", **title)
        await self.send(path, email="guest@example.com", begin="2099-01-02T10:00", end="2099-01-01T10:00")
        await self.stop("people-wrong-period", "guests.title", **title)
        await self.send(path, email="guest@example.com", begin="2099-01-01T10:00", end="2099-01-02T10:00")
        await self.stop("people-guest", "guests.title", **title)
        await self.open(f"{path}/limits?plant={HOUSE.id}&email=guest@example.com")
        await self.stop("limits", "guests.limits_title", email="guest@example.com")
        await self.send(f"{path}/limits", begin="2099-01-02T10:00", end="2099-01-01T10:00")
        await self.stop("limits-wrong-period", "guests.limits_title", email="guest@example.com")
        stored = await self.setup.store.find_plant(HOUSE.id)
        assert stored is not None
        for each in stored.plant.invited:
            await self.setup.store.withdraw_invitation(HOUSE.id, each.email)
        for member in stored.plant.allowed:
            await self.setup.store.withdraw_user(HOUSE.id, member.user_id)
        await self.open(f"{path}?plant={HOUSE.id}")
        await self.stop("people-nobody", "guests.title", **title)
        await self.setup.store.allow_user(HOUSE.id, BRUNO.id)

    async def consent(self) -> None:
        setup = self.setup
        client = setup.client.name
        await add_home(setup.store, ANNA, "Ferienwohnung am Chiemsee")
        scopes = (*SCOPES, "profile", MANAGE_SCOPE)
        await setup.store.save_client(msgspec.structs.replace(setup.client, scopes=scopes))
        await setup.change(ANNA, operator=True)
        await self.open(setup.authorize_path(scope=" ".join(scopes), prompt="consent"))
        await self.stop("consent-all-scopes", "consent.title", client=client)
        await setup.change(ANNA, operator=False)
        for box in await self.page.locator('[name="plant"]').all():
            await box.uncheck()
        await self.send("/auth/authorize", '[value="allow"]')
        await self.stop("consent-without-home", "consent.title", client=client)
        await self.open(setup.authorize_path(scope="light.read", prompt="consent"))
        await self.page.locator('[name="scope"]').uncheck()
        await self.send("/auth/authorize", '[value="allow"]')
        await self.stop("consent-without-scope", "consent.title", client=client)
        await self.open(setup.authorize_path(prompt="consent"))
        await self.stop("consent", "consent.title", client=client)
        await self.page.locator('input[value="plug.write"]').uncheck()
        await self.stop("consent-fewer-scopes", "consent.title", client=client)
        await self.send("/auth/authorize", '[value="deny"]')
        await self.page.wait_for_url("**/back?*error=access_denied*")
        for developer in (ANNA, BRUNO):
            own = msgspec.structs.replace(setup.client, id=f"app-of-{developer.name}")
            await setup.store.add_own_client(own, developer.id, 1)
            await self.open(setup.authorize_path(client_id=own.id))
            await self.stop(f"consent-of-a-developer-{developer.name}", "consent.title", client=client)
        await self.open(setup.authorize_path(prompt="login"))
        await self.stop("login-again", "login.again_title")
        await self.open(f"/auth/logout?client_id={setup.client.id}")
        await self.stop("logout-for-an-application", "logout.title")
        await self.open("/auth/logout")
        await self.stop("logout", "logout.title")
        await self.send("/auth/logout", '[value="logout"]')
        await self.stop("logged-out", "logout.done_title")
        await self.open(f"/auth/logout?client_id={setup.client.id}")
        await self.stop("logged-out-for-an-application", "logout.done_title")

    async def nothing_yet(self) -> None:
        await self.log_in(DORA.email)
        await self.stop("account-nothing-yet", "account.title")
        await self.open(self.setup.authorize_path())
        await self.stop("consent-no-homes", "consent.title", client=self.setup.client.name)
        for number in range(MOST_CHOSEN + 1):
            await add_home(self.setup.store, BRUNO, f"Home {number}", allowed=(Member(DORA.id, DORA.email),))
        await self.open(self.setup.authorize_path())
        await self.stop("consent-many-homes", "consent.title", client=self.setup.client.name)
