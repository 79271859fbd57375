"""What is watched in a training loop of the program's own, one file per part."""
