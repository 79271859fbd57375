"""Every Python snippet of README and docs is run, in one process."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Block, blocks

pytestmark = pytest.mark.live


def by_page() -> dict[Path, list[Block]]:
    found = defaultdict(list)
    for block in blocks("python"):
        found[block.page].append(block)
    return found


def what_a_reader_has() -> dict[str, Any]:
    """The model and the data that "your training" stands for."""
    import keras
    import numpy as np

    x = np.random.default_rng(0).normal(size=(256, 4)).astype("float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return {"model": model, "x": x, "y": x[:, :1]}


@pytest.mark.parametrize(
    "page", by_page(), ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_snippets_of_a_page_run_in_order(page, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = what_a_reader_has()

    for block in by_page()[page]:
        exec(compile(block.code, str(block), "exec"), names)

    assert (tmp_path / "logs").is_dir()
