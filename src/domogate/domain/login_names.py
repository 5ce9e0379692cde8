"""Login names of accounts that were made with an invitation link (Decision 0100).

Such an account has no proven e-mail address. Its address is the login name in the domain `guest.invalid`, which never exists
(RFC 2606 §2). So the gateway refuses invitations for this address, and sends no mail to it.
"""

import re

from domogate.domain.formats import email_key

LOGIN_NAME_LENGTH = (3, 40)
_DOMAIN = "@guest.invalid"
_LOGIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,38}[A-Za-z0-9]", re.ASCII).fullmatch


def is_login_name(text: str) -> bool:
    """Whether the text can be a login name: it has 3 to 40 ASCII letters, digits, dots, underscores and hyphens.

    The first and the last character must be letters or digits.
    """
    return _LOGIN_NAME(text) is not None


def email_of_login_name(login_name: str) -> str:
    return f"{login_name}{_DOMAIN}"


def is_login_name_email(email: str) -> bool:
    """Whether the address can only belong to an account that was made with an invitation link."""
    return email_key(email).endswith(_DOMAIN)


def print_email(email: str) -> str:
    """Return the text that pages show for the address: the login name if the account has one, or else the address."""
    return email[: -len(_DOMAIN)] if is_login_name_email(email) else email


def read_login(text: str) -> str:
    """Return the e-mail address of an account. `text` is what a person typed into a login form: an address or a login name.

    A login name becomes its address at `guest.invalid`. Any other text is returned as it is.
    """
    return email_of_login_name(text) if is_login_name(text) else text
