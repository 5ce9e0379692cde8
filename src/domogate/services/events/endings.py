"""The reasons for the end of a stream.

The last event of the stream contains the reason. The reason tells the client whether and how to connect again.
"""

from enum import StrEnum

import msgspec

from domogate.domain import faults


class EndCode(StrEnum):
    """The reason why a stream ended, as a code for programs.

    After DRAINING, SLOW or INTERRUPTED the client just connects again with `Last-Event-ID`. After any other reason the client
    usually must change something first, for example get a new token.
    """

    DRAINING = "draining"
    SLOW = "slow"
    INTERRUPTED = "interrupted"
    PLANT = "plant"
    TOKEN = "token"
    KEY = "key"
    PASSWORD = "password"
    TERMS = "terms"


MEANING_OF = {
    EndCode.DRAINING: "The gateway stops or is updated",
    EndCode.SLOW: "Too many events waited: the client read them too slowly, or (only in streams of operators) plants changed "
    "faster than the gateway could load them",
    EndCode.INTERRUPTED: "The gateway could not read the events",
    EndCode.PLANT: "The user lost the rights on a plant of the stream; a new stream can have the other plants",
    EndCode.TOKEN: "The token expired or was revoked, its scopes changed, or its user or client was deleted",
    EndCode.KEY: "The subscription key expired or was revoked",
    EndCode.PASSWORD: "The user must renew their password (469)",
    EndCode.TERMS: "The user must accept the terms (470)",
}


class End(msgspec.Struct, frozen=True):
    """The content of the event `end`, the last event of a stream: why the stream ends. `detail` explains it to a person."""

    code: EndCode
    detail: str


class Ended(Exception):
    """The stream must end now. Its last event has the reason."""

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

DRAINING = End(EndCode.DRAINING, "The gateway is stopping; connect again with Last-Event-ID.")
SLOW = End(EndCode.SLOW, "Too many events waited for this stream; connect again with Last-Event-ID.")
INTERRUPTED = End(EndCode.INTERRUPTED, "The gateway could not read the events; connect again with Last-Event-ID.")
PLANT_LOST = End(EndCode.PLANT, "The user has lost the rights on a plant of this stream.")
TOKEN_EXPIRED = End(EndCode.TOKEN, "The token has expired: get a new one.")
KEY_GONE = End(EndCode.KEY, "The subscription key has expired or was revoked.")
TOKEN_CHANGED = End(EndCode.TOKEN, "The scopes of the token have changed; connect again.")
