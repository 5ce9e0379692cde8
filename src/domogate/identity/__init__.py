"""Signing keys, tokens, password hashing, subscription keys with rates and quotas, external issuers."""
