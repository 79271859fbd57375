"""From the history of a run to words. Pure: no files, no clock, no TensorFlow."""
