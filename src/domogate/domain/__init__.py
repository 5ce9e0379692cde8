"""The domain: plants, people, devices and faults. It uses only the standard library and msgspec.

Classes with many instances have gc=False: frozen values have no reference cycles, and the garbage collector then does not
delay requests by visiting hundreds of thousands of them.
"""
