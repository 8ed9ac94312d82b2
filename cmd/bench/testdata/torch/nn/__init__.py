"""Layers of the stand-in: what others are made of, and none that compute."""


class Module:
    """What a layer is."""
