"""Rules for passwords and for secrets that people choose. The estate file and the services share them."""

import unicodedata

PASSWORD_LENGTH = (10, 200)
_LONGEST_TYPED = 4 * PASSWORD_LENGTH[1]
"""The greatest length of a typed password. Its normal form may be shorter: a letter with accents can become one character."""

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


def normalise_password(password: str) -> str | None:
    """Return the password in a normal form, because different keyboards may encode the same password differently (RFC 8265
    §4.2).

    Return None for a text that is too long for a password. The time to normalise accents grows with the square of their number,
    and the whole process would wait for it.
    """
    return unicodedata.normalize("NFC", password) if len(password) <= _LONGEST_TYPED else None


def find_password_problem(password: str, email: str) -> str | None:
    """Return a sentence that says why the password is not allowed, or None if it is allowed.

    Length matters most (NIST SP 800-63B §5.1.1.2). Digits and punctuation are not required.
    """
    shortest, longest = PASSWORD_LENGTH
    # The normalized text is counted, because it is the text that is hashed.
    normal = normalise_password(password)
    if normal is None or len(normal) > longest:
        return f"The password is too long: it may have {longest} characters at most."
    if len(normal) < shortest:
        return f"The password is too short: it needs at least {shortest} characters. Use a few words."
    if any(unicodedata.category(character) == "Cs" for character in password):
        return "The password contains an invalid character."
    folded = password.casefold().strip()
    if folded in (email.casefold(), email.casefold().partition("@")[0]):
        return "The password must not be the e-mail address."
    if is_common(folded):
        return "Many people use this password, so it is easy to guess. Choose another."
    return None


def is_weak_secret(secret: str) -> bool:
    """Whether a client secret or a key is easy to guess: `is_common` says so, or the text repeats one part as 'abcabc' does."""
    return is_common(secret.casefold(), filler=12) or _repeated_part(secret) != secret


def is_common(folded: str, *, filler: int = 8) -> bool:
    """Whether a password is easy to guess. `folded` is the password in lower case.

    These passwords are easy to guess: a common word, also if it is repeated or has up to `filler` digits and other signs; a
    sequence such as `12345` or `qwert`, also if it is repeated; the passwords in `_COMMON`; and a text with at most two
    different characters.
    """
    stem = "".join(character for character in folded if character.isalpha())
    part = _repeated_part(folded)
    return (
        part in _COMMON
        or len(set(folded)) <= 2
        or any(part in run for run in _RUNS)
        or (_repeated_part(stem) in _COMMON_STEMS and len(folded) <= len(stem) + filler)
    )


def _repeated_part(text: str) -> str:
    """Return the part that the text repeats: 'abc' for 'abcabc'. Return the text itself if it does not repeat a part."""
    return text[: (text + text).find(text, 1)]
