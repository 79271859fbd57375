"""What recording and reading cost, one file per question."""
