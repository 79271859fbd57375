"""The matrix of versions: `make compat` tries the wheel with each."""
