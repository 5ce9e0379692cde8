"""The tables of this version. A new database gets them at once. In an older database, `migrations/` adds what is missing.

Times are seconds since the epoch. Lists, and values whose form depends on a kind or a driver, are JSON text (`codec.py`).

This file imports no table, because a short command needs few of them (Decision 0142).
"""
