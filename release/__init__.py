"""`./dev package`: builds the packages of a release, with a bill of materials and a list of licences."""
