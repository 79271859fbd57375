"""Real trainings of several workers on this machine, and what becomes of them."""
