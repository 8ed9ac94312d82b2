"""Functions of the stand-in: none."""
