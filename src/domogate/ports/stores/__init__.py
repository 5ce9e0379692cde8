"""The store, split by subject. A service declares the parts of the store that it uses; `Store` has all parts.

A method that writes returns when the data are on disk and the listeners have received the changes.
"""
