"""Reads the kernel's small text files, of which any may be missing or forbidden."""

import os
from collections.abc import Collection
from pathlib import Path

# Most files fit; larger ones take several rounds.
_ROUND_BYTES = 1 << 14


def read(path: Path | str) -> str:
    """The text of a file; empty if it is gone, forbidden or fails to answer.

    Hundreds of files may make up one sample. This takes half the time of
    `Path.read_text`, most of which is spent on what such files do not need.
    """
    content = b""
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            while more := os.read(file, _ROUND_BYTES):
                content += more
        finally:
            os.close(file)
    except OSError:
        return ""
    # A process may call itself anything, so not all bytes need to be UTF-8.
    return content.decode(errors="replace")


def parse_number(text: str) -> int | None:
    """The only word of a text if it is a number; words like `max` are none."""
    word = text.strip()
    return int(word) if word.removeprefix("-").isdecimal() else None


def parse_numbers(text: str, names: Collection[str]) -> dict[str, int]:
    """Those lines of the form `name 7`, `name: 7` or `name: 7 kB` that are named.

    What is missing or malformed is left out.
    """
    found = {}
    for line in text.splitlines():
        words = line.split(None, 2)
        if len(words) > 1 and (name := words[0].rstrip(":")) in names:
            number = parse_number(words[1])
            if number is not None:
                found[name] = number
    return found
