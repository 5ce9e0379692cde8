"""Small tools that every other folder may use. They do not import anything of the gateway."""
