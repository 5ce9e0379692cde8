"""Why a change to people, applications or their rights is not made. The message tells a person what to do instead."""


class Refused(Exception):
    """Nothing was changed."""


class NotFound(Refused):
    """What was named is not there."""


class Invalid(Refused):
    """A value that can never be taken: write it otherwise."""


class Conflict(Refused):
    """A good value that does not go with what is there now."""


class Forbidden(Refused):
    """Not for this person to do."""


class MailFailed(Refused):
    """The mail server would not take it; what it was about is done."""
