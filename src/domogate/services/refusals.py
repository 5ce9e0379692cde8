"""Reasons why a service did not make a change. The message tells a person what to do instead."""


class Refused(Exception):
    """The service refused the change. Nothing was changed."""


class NotFound(Refused):
    """The object does not exist."""


class Invalid(Refused):
    """The value is not valid. The caller must change it."""


class Conflict(Refused):
    """The value is valid but conflicts with the current state."""


class Forbidden(Refused):
    """This person may not make the change."""


class MailFailed(Refused):
    """The change was made, but the mail server did not accept the mail."""
