"""The store, split by subject. A service names the parts that it uses; `Store` is all of them.

A write that has returned is on disk, and its changes were given to the listeners.
"""
