"""The tables of this version. A new database gets them at once. `migrations/` adds them to an older database.

Times are seconds since the epoch. Lists, and values whose form depends on a kind or a driver, are JSON text (`codec.py`).

This file imports no table, because a short command needs few of them (Decision 0142).
"""
