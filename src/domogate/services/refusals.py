"""Why a service did not make a change. The message tells a person what to do instead."""


class Refused(Exception):
    """Nothing was changed."""


class NotFound(Refused):
    """The named thing does not exist."""


class Invalid(Refused):
    """The value is never accepted: the caller must write it differently."""


class Conflict(Refused):
    """The value is valid but conflicts with the current state."""


class Forbidden(Refused):
    """This person may not do it."""


class MailFailed(Refused):
    """The mail server did not take the mail. The change itself was made."""
