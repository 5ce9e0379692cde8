"""Reasons why a service did not make a change. The message tells a person what to do instead."""


class Refused(Exception):
    """The service did not do what it was asked to do, and changed nothing.

    MailFailed is the exception: there the change was made.
    """


class NotFound(Refused):
    """The object does not exist, or the caller may not know that it exists."""


class Invalid(Refused):
    """The value is not valid. The caller must change it."""


class Conflict(Refused):
    """The value is valid but conflicts with the current state."""


class Forbidden(Refused):
    """This person or application may not do this."""


class MailFailed(Refused):
    """The change was made and stays, but the mail server did not accept the mail about it."""
