"""Writes the generated files of the clients from the declarations of the gateway: `./dev clients`."""
