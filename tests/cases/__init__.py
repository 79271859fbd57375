"""Runs trainings that fail or only look as if, and compares what we say of them."""
