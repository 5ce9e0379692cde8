"""Texts of the gateway's mails. Each has a subject and a plain-text body. The names in braces are filled in."""

from typing import NamedTuple


class MailText(NamedTuple):
    subject: str
    body: str


PASSWORD_LINK = MailText(
    "Set your password",
    """\
Hello{name},

use this link to set the password of your account on the gateway:

{link}

The link works once, within {lifetime}. If you did not expect this mail, you can ignore it.
""",
)

INVITATION_WITH_LINK = MailText(
    "You are invited to {plant}",
    """\
Hello,

you are invited to the home "{plant}". Choose a password with this link to accept:

{link}

The link works once, within {lifetime}. If you do not know this home, you can ignore this mail.
""",
)

INVITATION = MailText(
    "You can use {plant} now",
    """\
Hello,

the home "{plant}" is now shared with you. You find it in your applications, next to your other homes. If you do not want it,
you can leave it on your account page.
""",
)
