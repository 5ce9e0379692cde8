"""Why a stream ends: its last event says it, so that a client knows whether to come again, and with what."""

from enum import StrEnum

import msgspec

from domogate.domain import faults


class EndCode(StrEnum):
    """For programs. After the first three a client connects again with `Last-Event-ID` and has missed nothing."""

    DRAINING = "draining"
    """The gateway stops or is updated."""
    SLOW = "slow"
    """The client did not take its events fast enough."""
    INTERRUPTED = "interrupted"
    """The gateway could not find out what to tell."""
    PLANT = "plant"
    """The person lost a plant that the stream was about; what is left can be asked for anew."""
    TOKEN = "token"
    """The token expired or was revoked, or its user or client is gone."""
    KEY = "key"
    """The subscription key expired or was revoked."""
    PASSWORD = "password"
    """The user must renew their password (469)."""
    TERMS = "terms"
    """The user must accept the terms (470)."""


class End(msgspec.Struct, frozen=True):
    """How a stream ends. `detail` is for a person."""

    code: EndCode
    detail: str


class Ended(Exception):
    """Raised where a stream was about to go on."""

    def __init__(self, end: End) -> None:
        super().__init__(end.detail)
        self.end = end


CODE_OF: dict[type[faults.Fault], EndCode] = {
    faults.TokenRefused: EndCode.TOKEN,
    faults.PasswordToRenew: EndCode.PASSWORD,
    faults.TermsToAccept: EndCode.TERMS,
    faults.NotYourPlant: EndCode.PLANT,
    faults.NoSuchPlant: EndCode.PLANT,
}

DRAINING = End(EndCode.DRAINING, "The gateway stops for now; connect again with Last-Event-ID.")
SLOW = End(EndCode.SLOW, "Events came faster than they were taken; connect again with Last-Event-ID.")
INTERRUPTED = End(EndCode.INTERRUPTED, "The gateway could not read what to tell; connect again with Last-Event-ID.")
PLANT_LOST = End(EndCode.PLANT, "A plant that this stream was about is not the user's any more.")
TOKEN_EXPIRED = End(EndCode.TOKEN, "The token has expired: get a new one.")
KEY_GONE = End(EndCode.KEY, "The subscription key has expired or was revoked.")
TOKEN_CHANGED = End(EndCode.TOKEN, "What the token lets the client see has changed; connect again.")
