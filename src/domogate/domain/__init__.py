"""The domain: plants, people, devices and faults. It uses only the standard library and msgspec.

Classes with many instances have gc=False, so the garbage collector ignores these instances. Otherwise it would check hundreds
of thousands of them and delay requests. This is safe because frozen values have no reference cycles.
"""
