"""Writes the generated files of the TypeScript client."""
