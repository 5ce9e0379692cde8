"""Rules for e-mail addresses, login names, names, languages and passwords."""

from domogate.domain.formats import NAME_LENGTH, is_email, is_name
from domogate.domain.languages import LANGUAGES
from domogate.domain.login_names import LOGIN_NAME_LENGTH, is_login_name, is_login_name_email
from domogate.domain.passwords import find_password_problem
from domogate.services.refusals import Invalid, Reason


def check_email(email: str) -> str:
    """Return the e-mail address unchanged.

    Raises Invalid if the text does not have the form of an e-mail address. Also raises Invalid for an address at
    `guest.invalid`, which stands for a login name (Decision 0100).
    """
    if not is_email(email):
        raise Invalid(f"{email!r} is not an e-mail address such as anna@example.com.", Reason.BAD_EMAIL)
    if is_login_name_email(email):
        raise Invalid(
            f"{email!r} stands for the login name of an account without an e-mail address. "
            "Use an address at which the person gets mail.",
            Reason.BAD_EMAIL,
        )
    return email


def check_login_name(login_name: str) -> str:
    if not is_login_name(login_name):
        shortest, longest = LOGIN_NAME_LENGTH
        raise Invalid(
            f"A login name has {shortest} to {longest} characters: letters from a to z, digits, dots, underscores and hyphens. "
            "It begins and ends with a letter or a digit."
        )
    return login_name


def check_name(name: str) -> str:
    if not is_name(name):
        raise Invalid(f"A name has at most {NAME_LENGTH} characters, all on one line.", Reason.BAD_NAME)
    return name


def check_language(language: str | None) -> str | None:
    if language is not None and language not in LANGUAGES:
        raise Invalid(f"{language!r} is not a language of this gateway. The languages are {', '.join(LANGUAGES)}.")
    return language


def check_password(password: str, email: str) -> None:
    """Raises Invalid if the password is too short, too long or easy to guess."""
    problem = find_password_problem(password, email)
    if problem is not None:
        raise Invalid(problem)
