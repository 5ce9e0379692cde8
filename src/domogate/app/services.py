"""Builds services from the settings, for the gateway and for the command line."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

import msgspec

from domogate.app.parts import DAY
from domogate.backends.printed_mail import PrintedMail
from domogate.domain.terms import Terms, terms_at, terms_from_text
from domogate.identity.knowledge import KnowledgeBound
from domogate.identity.passkeys import WebAuthnVerifier
from domogate.identity.relying_party import find_relying_party
from domogate.identity.rotation import list_key_places, rotate_keys
from domogate.identity.signing import KeyRing, TokenSigner
from domogate.ports import Clock, Hasher, KeyPlace, Mail, Signer, Store
from domogate.services.audit import AuditLog
from domogate.services.clock_check import ClockCheck
from domogate.services.people import Passkeys, People, Sessions
from domogate.services.plants.history import History
from domogate.settings import Settings

if TYPE_CHECKING:
    from domogate.backends.mail import SmtpMail


def build_knowledge(settings: Settings, store: Store) -> KnowledgeBound:
    """Return the limit on the age of the data with which this gateway decides about rights.

    A member of a cluster may not know the newest changes of the other members yet. A gateway that is not in a cluster knows all
    changes, so its limit is infinite.
    """
    return KnowledgeBound(store.knowledge_age, inf if settings.cluster is None else settings.knowledge_bound)


def build_keyring(settings: Settings, store: Store, clock: Clock, knowledge: KnowledgeBound | None = None) -> KeyRing:
    # A retired key must be kept until all tokens that it signed have expired.
    retired_kept = max(DAY, settings.access_token_lifetime, settings.id_token_lifetime)
    if settings.cluster is None:
        knowledge = None  # A gateway that is not in a cluster always knows all changes, so nothing needs to be checked.
    return KeyRing(store, clock, algorithm=settings.signing_algorithm, retired_kept=retired_kept, knowledge=knowledge)


def build_signer(settings: Settings, keyring: KeyRing, clock: Clock) -> TokenSigner:
    return TokenSigner(
        keyring, clock, settings.auth_url, settings.base_url, settings.access_token_lifetime, settings.id_token_lifetime
    )


def build_people(settings: Settings, store: Store, hasher: Hasher, clock: Clock, audit: AuditLog) -> People:
    return People(
        store,
        hasher,
        clock,
        _build_mail(settings),
        base_url=settings.base_url,
        homes_url=f"{settings.base_url}/homes" if settings.serves_pages else "",
        link_lifetime=settings.link_lifetime,
        audit=audit,
    )


def build_passkeys(settings: Settings, store: Store, sessions: Sessions, signer: Signer, clock: Clock) -> Passkeys | None:
    """Build the service for passkeys. Return None if browsers do not offer passkeys at the URL of this gateway."""
    relying_party = find_relying_party(settings.base_url)
    if relying_party is None:
        return None
    return Passkeys(store, sessions, WebAuthnVerifier(relying_party), signer, clock)


def build_terms(settings: Settings) -> Terms | None:
    """Read the terms of use from the file in the settings, or take their URL. Return None if neither is set."""
    if settings.terms_file is not None:
        return terms_from_text(settings.terms_file.read_text(encoding="utf-8"))
    return None if settings.terms_url is None else terms_at(settings.terms_url)


def _build_mail(settings: Settings) -> Mail:
    return PrintedMail() if settings.smtp_host is None else build_smtp_mail(settings, settings.smtp_host)


def build_smtp_mail(settings: Settings, host: str) -> "SmtpMail":
    from domogate.backends.mail import SmtpMail  # not needed without a mail server

    return SmtpMail(
        host,
        settings.smtp_port,
        settings.smtp_sender or f"domogate@{host}",
        settings.smtp_user,
        settings.smtp_password,
        settings.smtp_security,
        operator_name=settings.operator_name,
        default_language=settings.default_language,
    )


def build_history(settings: Settings, store: Store, clock: Clock, clock_check: ClockCheck | None) -> History:
    return History(
        store,
        clock,
        clock_check,
        changes_kept=settings.changes_kept_days * DAY,
        readings_raw=settings.readings_raw_days * DAY,
        readings_kept=settings.readings_kept_days * DAY,
        orders_kept=settings.orders_kept_days * DAY,
        most_readings=settings.readings_most,
        audit_kept=None if settings.audit_kept_days is None else settings.audit_kept_days * DAY,
        token_lifetime=max(settings.access_token_lifetime, settings.id_token_lifetime),
    )


class SigningKeyAdministration(msgspec.Struct, frozen=True):
    """Lists and rotates signing keys, for operators."""

    store: Store
    clock: Clock
    algorithm: str

    async def list_places(self) -> Sequence[KeyPlace]:
        return await list_key_places(self.store, self.clock)

    async def rotate(self, *, now: bool) -> str:
        return (await rotate_keys(self.store, self.clock, algorithm=self.algorithm, now=now)).kid
