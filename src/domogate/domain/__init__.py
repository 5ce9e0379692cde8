"""What is true of a house: plants, people, devices, and what can go wrong. Standard library and msgspec only."""
