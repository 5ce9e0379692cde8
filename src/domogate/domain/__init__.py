"""What is true of a house: plants, people, devices, and what can go wrong. Standard library and msgspec only.

What there may be many of is declared with gc=False: frozen values hold no cycles, and a collector that need not walk through
hundreds of thousands of them does not hold a request up.
"""
