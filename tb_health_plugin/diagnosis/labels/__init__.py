"""What can be wrong with labels."""
