"""Every module of the suite's lists has a test with its name, and each exception has a decision."""

import ast
import re
from pathlib import Path

import pytest

from support.markdown import links, section, tables

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
INDEX = ROOT / "docs" / "decisions" / "index.md"

BASIC = """
oidcc-server oidcc-response-type-missing oidcc-idtoken-signature oidcc-idtoken-unsigned oidcc-userinfo-get
oidcc-userinfo-post-header oidcc-userinfo-post-body oidcc-ensure-request-without-nonce-succeeds-for-code-flow
oidcc-scope-profile oidcc-scope-email oidcc-scope-address oidcc-scope-phone oidcc-scope-all
oidcc-ensure-other-scope-order-succeeds oidcc-alternate-happy-flow oidcc-display-page oidcc-display-popup oidcc-prompt-login
oidcc-prompt-none-not-logged-in oidcc-prompt-none-logged-in oidcc-max-age-1 oidcc-max-age-10000
oidcc-ensure-request-with-unknown-parameter-succeeds oidcc-id-token-hint oidcc-login-hint oidcc-ui-locales
oidcc-claims-locales oidcc-ensure-request-with-acr-values-succeeds oidcc-codereuse oidcc-codereuse-30seconds
oidcc-ensure-registered-redirect-uri oidcc-ensure-post-request-succeeds oidcc-server-client-secret-post
oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported
oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported oidcc-claims-essential
oidcc-ensure-request-object-with-redirect-uri oidcc-refresh-token oidcc-ensure-request-with-valid-pkce-succeeds
"""
CONFIG = "oidcc-discovery-endpoint-verification oidcc-discovery-issuer-not-matching-config"
LOGOUT = """
oidcc-rp-initiated-logout-discovery-endpoint-verification oidcc-rp-initiated-logout
oidcc-rp-initiated-logout-bad-post-logout-redirect-uri oidcc-rp-initiated-logout-modified-id-token-hint
oidcc-rp-initiated-logout-no-id-token-hint oidcc-rp-initiated-logout-no-params
oidcc-rp-initiated-logout-no-post-logout-redirect-uri oidcc-rp-initiated-logout-no-state
oidcc-rp-initiated-logout-only-state oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri
oidcc-rp-initiated-logout-bad-id-token-hint
"""
IMPLICIT = """
oidcc-server oidcc-idtoken-signature oidcc-ensure-request-without-nonce-fails oidcc-prompt-none-not-logged-in
oidcc-response-type-missing oidcc-userinfo-get oidcc-userinfo-post-header oidcc-userinfo-post-body
"""
PLANS = {
    "test_basic_op.py": BASIC,
    "test_config_op.py": CONFIG,
    "test_rp_initiated_logout_op.py": LOGOUT,
    "test_implicit_op.py": IMPLICIT,
}


def names_of_tests(file: Path) -> list[str]:
    """The test functions of a file, also those in classes."""
    nodes = ast.walk(ast.parse(file.read_text()))
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def as_test(module: str) -> str:
    return f"test_{module.replace('-', '_')}"


@pytest.mark.parametrize("file", PLANS)
def test_each_module_has_exactly_one_test_of_its_name_and_no_other_claims_to_be_one(file: str) -> None:
    wanted = {as_test(module) for module in PLANS[file].split()}
    found = [name for name in names_of_tests(HERE / file) if name.startswith("test_oidcc_")]
    assert len(found) == len(set(found))
    assert set(found) == wanted


def answered_otherwise() -> list[dict[str, str]]:
    (table,) = tables(section(INDEX.read_text(), "OpenID conformance modules with another answer"))
    return table


def test_every_exception_is_a_module_with_a_record_and_a_test() -> None:
    known = {module for plan in PLANS.values() for module in plan.split()}
    rows = answered_otherwise()
    assert rows
    for row in rows:
        (module,) = re.findall(r"`([^`]+)`", row["module"])
        assert module in known
        assert row["decision"]
        (record,) = links(row["record"])
        assert (INDEX.parent / record.target).is_file()
        (test,) = re.findall(r"`([^`]+)`", row["test"])
        file, *_, name = test.split("::")
        assert name in names_of_tests(ROOT / file), test


def test_a_test_that_speaks_of_skipping_or_warning_is_in_the_index() -> None:
    """Where the suite would not pass, a decision explains why."""
    listed = {as_test(re.findall(r"`([^`]+)`", row["module"])[0]) for row in answered_otherwise()}
    speaking = {
        node.name
        for file in PLANS
        for node in ast.walk(ast.parse((HERE / file).read_text()))
        if isinstance(node, ast.FunctionDef)
        and re.search(r"[Tt]he suite (warns|skips)|by the suite", ast.get_docstring(node) or "")
    }
    assert "test_oidcc_scope_address" in speaking
    assert speaking <= listed
