"""The pages of invitation links: the owner makes a link, and other people open it."""

from support.page_actions import DORA, NEW
from support.page_walk_factors import FactorPages
from support.stores import ANNA, HOUSE

_PEOPLE = f"/auth/account/plants/people?plant={HOUSE.id}"
_LINK = "/auth/account/plants/people/link"
_INVITATION = "/auth/invitation"


class InvitationPages(FactorPages):
    async def invitation_links(self) -> None:
        """Anna is logged in, before and after."""
        link = await self._make_links()
        await self.open(link)
        await self.stop("invitation-of-the-owner", "invitation.title", plant=HOUSE.name)
        await self.page.context.clear_cookies()
        await self.open(link)
        await self.stop("invitation", "invitation.title", plant=HOUSE.name)
        await self.open(link.replace(_INVITATION, f"{_INVITATION}/account"))
        await self.stop("invitation-account", "invitation.account_title")
        await self.send(login_name="e", password=NEW, repeated="another one")
        await self.stop("invitation-account-wrong", "invitation.account_title")
        await self.setup.change(DORA, operator=True)
        await self.log_in(DORA.email)
        await self.open(link)
        await self.stop("invitation-of-an-operator", "invitation.title", plant=HOUSE.name)
        await self.setup.change(DORA, operator=False)
        await self.setup.change(ANNA, name="")
        await self.open(link)
        await self.stop("invitation-without-the-name-of-the-owner", "invitation.title", plant=HOUSE.name)
        await self.setup.change(ANNA, name=ANNA.name)
        await self.open(f"{_INVITATION}?token=used")
        await self.stop("invitation-used", "link.invitation_title")
        await self.log_in(ANNA.email)

    async def _make_links(self) -> str:
        """Return the path of a link."""
        await self.open(f"{_LINK}?plant={HOUSE.id}")
        await self.stop("link-form", "guests.link_title")
        await self.send(_LINK, note="Emil", begin="2099-01-02T10:00", end="2099-01-01T10:00")
        await self.stop("link-form-wrong-period", "guests.link_title")
        await self.send(_LINK, begin="", end="")
        await self.stop("link-made", "guests.link_made_title", note="Emil")
        shown = await self.page.locator(".link-url code").inner_text()
        await self.open(f"{_LINK}?plant={HOUSE.id}")
        await self.send(_LINK)
        await self.stop("link-made-without-a-note", "guests.link_made_title_unnamed")
        await self.open(_PEOPLE)
        await self.stop("people-with-links", "guests.title", plant=HOUSE.name)
        return shown[shown.index(_INVITATION) :]
