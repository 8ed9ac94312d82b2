"""Layers of the stand-in: none."""
