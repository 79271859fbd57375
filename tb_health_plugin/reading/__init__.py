"""From event files, or TensorBoard's data provider, to the history of a run."""
