"""Builds /auth with its pages, /.well-known, and the page for paths that do not exist.

This module is imported when one of these three gets its first request.
"""

from typing import TYPE_CHECKING

from domogate import auth
from domogate.app.late_surfaces import NOT_FOUND
from domogate.auth.pages import Pages
from domogate.edge.stack import ASGIApp
from domogate.services.authorization import Authorization, Lifetimes

if TYPE_CHECKING:
    from domogate.app.gateway import Gateway


def build_surfaces(gateway: "Gateway") -> dict[bytes, ASGIApp]:
    """Build /auth, its discovery documents under /.well-known, and the page for paths that do not exist."""
    settings = gateway.settings
    authorization = Authorization(
        gateway.store,
        gateway.identities,
        gateway.signer,
        gateway.own_verifier,
        gateway.clock,
        issuer=settings.auth_url,
        audit=gateway.audit,
        lifetimes=Lifetimes(
            access=settings.access_token_lifetime,
            id=settings.id_token_lifetime,
            code=settings.code_lifetime,
            refresh=settings.refresh_token_lifetime,
            refresh_grace=settings.refresh_grace,
        ),
    )
    pages = Pages(
        gateway.sessions,
        gateway.store,
        gateway.people,
        gateway.webhook_administration,
        gateway.clock,
        base_url=settings.base_url,
        has_door=settings.serves_pages,
        operator_name=settings.operator_name,
        default_language=settings.default_language,
        terms=gateway.terms,
        mails_links=settings.smtp_host is not None,
        passkeys=gateway.passkeys,
    )
    discovery = auth.Discovery(gateway.signer, settings.auth_url, implicit_enabled=settings.implicit_enabled)
    app = auth.build(
        signer=gateway.signer,
        authorization=authorization,
        sessions=gateway.sessions,
        pages=pages,
        issuer=settings.auth_url,
        implicit_enabled=settings.implicit_enabled,
        max_body=settings.max_body,
    )
    return {b"auth": app, b".well-known": auth.build_well_known(discovery, auth.PREFIX), NOT_FOUND: pages.not_found}
