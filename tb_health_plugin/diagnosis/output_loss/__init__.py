"""Pairs of a last layer and a loss that do not belong together."""
