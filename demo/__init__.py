"""Real trainings, crashed and healthy, and the tab that explains them."""
