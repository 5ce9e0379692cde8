"""The built-in client of the gateway's own pages (Decision 0076)."""

from domogate.domain.people import KNOWN_SCOPES, PAGES_CLIENT, Client, IdentityScope
from domogate.ports import ClientStore


async def register_pages_client(store: ClientStore, base_url: str, name: str, *, enabled: bool) -> None:
    """Store the OAuth client of the gateway's own pages, with the values that this version of Domogate needs.

    If the pages are switched off, remove this client with its grants.
    """
    if not enabled:
        await store.delete_client(PAGES_CLIENT)
        return
    client = Client(
        id=PAGES_CLIENT,
        name=name,
        redirect_uris=(f"{base_url}/signed-in",),
        post_logout_redirect_uris=(f"{base_url}/",),
        scopes=tuple(scope for scope in KNOWN_SCOPES if scope not in tuple(IdentityScope)),
        access_token_everywhere=True,
    )
    if await store.find_client(PAGES_CLIENT) != client:
        await store.save_client(client)
