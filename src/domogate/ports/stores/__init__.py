"""The store, split by subject. A service declares the parts of the store that it uses; `Store` has all parts.

When a method that writes returns, the data are on disk, and the listeners have received the changes.
"""
