"""Puts something of ours around a method of one object, for a while.

It lives in the object's own `__dict__`: the class, and so every other object, stays as
it is. Several may be around the same method and go in any order.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Around:
    """Stands in for a method until `remove` is called; subclasses do more in `call`.

    Args:
        holder: The object whose method it is.
        name: Name of the method.
    """

    def __init__(self, holder: Any, name: str) -> None:
        self._holder = holder
        self._name = name
        self._was_own = name in vars(holder)
        self._inner: Callable[..., Any] = getattr(holder, name)
        self._is_on = True
        # So that Keras finds the signature when it words an error.
        functools.update_wrapper(self, self._inner, updated=())

    def put(self) -> None:
        # Past `__setattr__`, with which Keras tracks what belongs to a model.
        vars(self._holder)[self._name] = self

    def remove(self) -> None:
        """Undoes `put`. Where somebody wrapped us meanwhile, we only pass on."""
        self._is_on = False
        own = vars(self._holder)
        outer, current = None, own.get(self._name)
        while isinstance(current, Around) and current is not self:
            outer, current = current, current._inner
        if current is not self:
            return
        if outer is not None:
            outer._inner, outer._was_own = self._inner, self._was_own
        elif self._was_own:
            own[self._name] = self._inner
        else:
            del own[self._name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._is_on:
            return self._inner(*args, **kwargs)
        return self.call(*args, **kwargs)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner(*args, **kwargs)

    def __reduce__(self) -> Any:
        """A copy of the object gets its plain method."""
        return getattr, (self._holder, self._name)


def passed_over(function: Any) -> Any:
    """Makes Python's warnings pass over the frames of a function of ours.

    A warning names the line that is so many calls away from it. Python does not count
    calls of the import system, which it knows by such a file name; a frame of ours
    counts as little then. Not for what autograph reads: the file does not exist.
    """
    code = function.__code__
    folder, name = Path(code.co_filename).parent, Path(code.co_filename).name
    hidden = str(folder / f"importlib_bootstrap_{name}")
    function.__code__ = code.replace(co_filename=hidden)
    return function


class Unseen(Around):
    """One that warnings of the program pass over: for what is never traced."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "call" in vars(cls):
            passed_over(cls.call)

    @passed_over
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._is_on:
            return self._inner(*args, **kwargs)
        return self.call(*args, **kwargs)
