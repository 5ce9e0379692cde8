"""Homes as their residents use them: what a person sees of a plant, and the commands that a person sends."""
