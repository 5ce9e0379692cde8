"""Leaf: signing keys, tokens, hashing, subscription keys and quotas."""
