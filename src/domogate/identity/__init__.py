"""Signing keys, tokens, password hashing, passkeys, subscription keys with rates and quotas, external issuers, secret keys."""
