"""The store, split by subject. A service declares the parts that it uses; `Store` has all of them.

When a method that writes returns, the data are on disk, and the listeners have received the changes.
"""
