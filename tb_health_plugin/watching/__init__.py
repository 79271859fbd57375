"""Runs beside the trainer and outlives it. Never imports TensorFlow."""
