"""Rules for e-mail addresses, names and passwords."""

import unicodedata

from domogate.domain.formats import NAME_LENGTH, is_email, is_name
from domogate.services.refusals import Invalid

PASSWORD_LENGTH = (10, 200)

# The most common passwords without their digits and punctuation.
_STEMS = """
abc abcd abcdef abcdefghij admin administrator asdf asdfghjkl azerty azertyuiop batman benvenuto bienvenue changeme charlie
contrasena contraseña default domogate domotica dragon football freedom guest hello home iloveyou jessica letmein login master
michael monkey motdepasse parola pass passw passwort password princess qazwsx qazwsxedc qwe qweasdzxc qwer qwert qwerty
qwertyuiop qwertz qwertzuiop root secret smarthome starwars sunshine superman system test testing tiamo trustno user welcome
whatever willkommen zaqwsx zxcvbnm
"""
_COMMON_STEMS = frozenset(_STEMS.split())
_RUNS = ("01234567890123456789", "98765432109876543210", "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm")
_COMMON = frozenset({"1q2w3e4r5t", "1q2w3e4r5t6y", "q1w2e3r4t5", "q1w2e3r4t5y6", "1qaz2wsx3edc", "zaq12wsxcde3", "a1b2c3d4e5"})


def check_email(email: str) -> str:
    """The address unchanged. Raises Invalid."""
    if not is_email(email):
        raise Invalid(f"{email!r} is not an e-mail address such as anna@example.com.")
    return email


def check_name(name: str) -> str:
    if not is_name(name):
        raise Invalid(f"A name has at most {NAME_LENGTH} characters, all on one line.")
    return name


def check_password(password: str, email: str) -> None:
    """Length matters most (NIST SP 800-63B §5.1.1.2); kinds of characters are not required. Raises Invalid."""
    shortest, longest = PASSWORD_LENGTH
    # The length of what is hashed.
    length = len(unicodedata.normalize("NFC", password))
    if length < shortest:
        raise Invalid(f"The password is too short: it needs at least {shortest} characters. Use a few words.")
    if length > longest:
        raise Invalid(f"The password is too long: it may have {longest} characters at most.")
    if any(unicodedata.category(character) == "Cs" for character in password):
        raise Invalid("The password contains an invalid character.")
    folded = password.casefold().strip()
    if folded in (email.casefold(), email.casefold().partition("@")[0]):
        raise Invalid("The password must not be the e-mail address.")
    if is_common(folded):
        raise Invalid("Many people use this password, so it is easy to guess. Choose another.")


def is_common(folded: str) -> bool:
    """Whether an attacker would try it first."""
    stem = "".join(character for character in folded if character.isalpha())
    return (
        folded in _COMMON
        or len(set(folded)) <= 2
        or any(folded in run for run in _RUNS)
        or (stem in _COMMON_STEMS and len(folded) <= len(stem) + 8)
    )
