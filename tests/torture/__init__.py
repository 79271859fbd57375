"""Tries to break what the product promises, for as long as one likes.

`make torture MINUTES=10` runs every chamber in turn; `test_short_form.py` runs a few
rounds of each in the suite. A round that broke something prints the seed that does it
again: `python -m tests.torture --only files --seed 17 --rounds 1`.
"""
