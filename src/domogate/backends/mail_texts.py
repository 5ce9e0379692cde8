"""What the gateway's mails say, in plain text. Each has a subject and a body; what stands in braces is filled in."""

from typing import NamedTuple


class Text(NamedTuple):
    subject: str
    body: str


PASSWORD_LINK = Text(
    "Set your password",
    """\
Hello{name},

with this link you set the password of your account on the gateway:

{link}

It works once, within {lifetime}. If you did not expect this mail, you need not do anything.
""",
)

INVITATION_WITH_LINK = Text(
    "You are invited to {plant}",
    """\
Hello,

you are invited to use the plant "{plant}". Choose a password with this link, and you are in:

{link}

It works once, within {lifetime}. If you do not know the plant, you need not do anything.
""",
)

INVITATION = Text(
    "You can use {plant} now",
    """\
Hello,

the plant "{plant}" is shared with you from now on: you find it in your applications beside your others. If you do not want it,
you can leave it on your account page.
""",
)
