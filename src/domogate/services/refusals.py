"""Exceptions with which a service refuses a request, and their reasons as codes.

The message of an exception tells a person the reason, and often what to do.
"""

from enum import StrEnum


class Reason(StrEnum):
    """The reason of a refusal, as a code.

    The codes do not change, so a client can show the reason in the person's language.
    """

    HAS_ACCESS = "has_access"
    OWNER_HAS_NO_LIMITS = "owner_has_no_limits"
    OWNER_STAYS = "owner_stays"
    TOO_MANY_PEOPLE = "too_many_people"
    TOO_MANY_LINKS = "too_many_links"
    TOO_MANY_PLACES = "too_many_places"
    TOO_MANY_FAVOURITES = "too_many_favourites"
    NO_SUCH_PLACE = "no_such_place"
    BAD_EMAIL = "bad_email"
    BAD_PERIOD = "bad_period"
    REVERSED_PERIOD = "reversed_period"
    TIME_IN_FUTURE = "time_in_future"
    TIME_IN_PAST = "time_in_past"
    BAD_NAME = "bad_name"
    BAD_KEY_LIMIT = "bad_key_limit"
    CAMERA_OFF = "camera_off"
    MAIL_FAILED = "mail_failed"
    DEVICE_OFFLINE = "device_offline"
    DEVICE_TIMEOUT = "device_timeout"
    DEVICE_REFUSED = "device_refused"
    USER_EXISTS = "user_exists"
    NO_SUCH_USER = "no_such_user"
    OWNS_PLANTS = "owns_plants"
    LAST_OPERATOR = "last_operator"
    NO_SECOND_FACTOR = "no_second_factor"
    CLIENT_EXISTS = "client_exists"
    TOO_MANY_APPLICATIONS = "too_many_applications"
    TOO_MANY_KEYS = "too_many_keys"
    SELF_SERVICE_OFF = "self_service_off"
    FLOOR_NOT_EMPTY = "floor_not_empty"
    ROOM_NOT_EMPTY = "room_not_empty"
    PLANT_REMOVED = "plant_removed"
    WEBHOOK_ENDED = "webhook_ended"
    ALREADY_RUNNING = "already_running"
    SET_IN_SETTINGS = "set_in_settings"


class Refused(Exception):
    """The service refused a request and changed nothing.

    MailFailed is different. Some changes may have been made before the mail failed, and these changes stay.
    """

    def __init__(self, message: str, reason: Reason | None = None) -> None:
        super().__init__(message)
        self.reason = reason


class NotFound(Refused):
    """The object does not exist, or the caller must not learn that it exists."""


class Invalid(Refused):
    """The value is not valid. The caller must change it."""


class Conflict(Refused):
    """The value is valid but conflicts with the current state."""


class Forbidden(Refused):
    """This person or application may not do this."""


class MailFailed(Refused):
    """A mail could not be sent. Changes that were made before stay, for example an invitation or a new user."""
