"""The domain: plants, people, devices and faults. This folder uses only the standard library and msgspec.

Classes with many instances have gc=False, so that the garbage collector ignores these instances. Otherwise the collector
would check hundreds of thousands of objects and delay requests. gc=False is safe, because frozen values have no reference
cycles.
"""
