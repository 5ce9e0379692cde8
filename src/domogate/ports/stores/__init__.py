"""The store, split by subject. A service declares the parts that it uses; `Store` has all of them.

When a write returns, it is on disk, and the listeners have received its changes.
"""
