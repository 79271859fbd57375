"""What the trainer and the watcher share to write one story."""
