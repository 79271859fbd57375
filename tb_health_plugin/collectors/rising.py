"""Keeps a total from falling when one of the things it sums up goes away."""


class Rising:
    """Called with the sum of this reading, returns a total that never falls.

    A dip of one reading is waited out: a process that ends moves what it used into
    its parent's account, and may be caught on the way. What is still missing at the
    next reading is gone for good, and the total goes on from where it was.
    """

    def __init__(self) -> None:
        self._highest = 0.0
        self._gone = 0.0
        self._dipped = False

    def __call__(self, total: float) -> float:
        total += self._gone
        if total < self._highest and self._dipped:
            self._gone += self._highest - total
            total = self._highest
        self._dipped = total < self._highest
        self._highest = max(self._highest, total)
        return self._highest
