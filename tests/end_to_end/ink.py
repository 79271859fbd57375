"""Looks at the pixels of a chart: how much of its width a colour of the palette has."""

from typing import Any

from demo.tensorboard_server import wait_until

# Share of the canvas' columns in which the colour can be seen.
_COLUMNS = """(canvas, name) => {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
  const {width, height} = canvas;
  const {data} = canvas.getContext("2d").getImageData(0, 0, width, height);
  const seen = new Set();
  for (let at = 0; at < data.length; at += 4) {
    if (ink.every((part, i) => Math.abs(data[at + i] - part) < 24)) {
      seen.add((at / 4) % width);
    }
  }
  return seen.size / width;
}"""


def wait_for_ink(canvas: Any, share: float, colour: str = "--line") -> None:
    """Waits until a line of that colour covers more than `share` of the width."""
    wait_until(lambda: canvas.evaluate(_COLUMNS, colour) > share)
