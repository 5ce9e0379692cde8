"""Login names: the characters that are accepted, and the addresses that stand for them."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domogate.domain.formats import email_key, is_email
from domogate.domain.login_names import email_of_login_name, is_login_name, is_login_name_email, print_email, read_login
from domogate.services.people import check_email, check_login_name
from domogate.services.refusals import Invalid

ENDS = string.ascii_letters + string.digits
NAMES = st.from_regex(rf"[{ENDS}][{ENDS}._-]{{1,38}}[{ENDS}]", fullmatch=True)


@given(NAMES)
def test_a_login_name_has_an_address_that_only_it_can_have(name: str) -> None:
    assert check_login_name(name) == name
    email = email_of_login_name(name)
    assert is_email(email)
    assert is_login_name_email(email)
    assert (read_login(name), read_login(email)) == (email, email)
    assert print_email(email) == name
    for spelling in (email, email.upper(), email.swapcase()):
        assert email_key(spelling) == email_key(email)
        with pytest.raises(Invalid, match="login name"):
            check_email(spelling)


@given(st.text(max_size=60))
@example("ab")
@example("a" * 41)
@example(".anna")
@example("anna-")
@example("anna@home")
@example("\u0430nna")  # The first letter is Cyrillic.
@example("\uff21nna")  # The first letter has full width.
@example("anna\n")
@example("an na")
@example("\u0661\u0662\u0663")
def test_every_other_text_is_refused(text: str) -> None:
    accepted = 3 <= len(text) <= 40 and set(text) <= set(ENDS + "._-") and text[0] in ENDS and text[-1] in ENDS
    assert is_login_name(text) is accepted
    assert read_login(text) == (email_of_login_name(text) if accepted else text)
    if not accepted:
        with pytest.raises(Invalid):
            check_login_name(text)


@given(st.emails())
def test_addresses_of_people_stay_as_they_are(email: str) -> None:
    assert not is_login_name_email(email)
    assert print_email(email) == email
