"""`health.summary()`: in a notebook, in a terminal, and while nothing is known."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tb_health_plugin import notebook
from tb_health_plugin.events import facts
from tb_health_plugin.notebook import Summary, summarize
from tests import runs

CRASHED = str(runs.HERE / "native_crash")


def test_text_says_what_tb_health_why_says():
    said = repr(summarize(CRASHED, is_over=True))

    assert "Crashed in native code (abort) at step 96" in said
    assert "How we know" in said
    assert all(len(line) <= 88 for line in said.splitlines())


def test_markdown_and_html_say_the_same():
    summary = summarize(CRASHED, is_over=True)

    assert summary._repr_markdown_().startswith("### Crashed in native code (abort)")
    page = summary._repr_html_()
    assert "<b>How we know</b><ul><li>" in page
    assert "<b>What to do</b><ul><li>" in page
    assert page.count("<div") == page.count("</div>") == 1


def test_words_of_the_program_stay_words(logs: Path, write_attempt):
    end = facts.RunEnded(
        wall_time=3.0, step=8, reason="exception", exception="E", message="<b>bold</b>"
    )
    write_attempt(".", told=[facts.RunStarted(wall_time=1.0, pid=1), end])

    page = summarize(str(logs), is_over=True)._repr_html_()

    assert "<b>bold" not in page


def test_nothing_recorded_is_said_not_raised(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(notebook, "WRITTEN_WITHIN_SECONDS", 0.0)

    summary = summarize(str(tmp_path / "none"), is_over=False)

    assert summary.answer is None
    assert repr(summary).startswith("Nothing to tell yet: ")
    assert "Nothing to tell yet" in summary._repr_html_()
    assert "Nothing to tell yet" in summary._repr_markdown_()


def test_an_end_that_is_not_written_yet_is_waited_for(monkeypatch):
    answers = iter([{"state": "running"}, {"state": "running"}, {"state": "finished"}])
    monkeypatch.setattr(notebook, "diagnose", lambda *_: next(answers))
    monkeypatch.setattr(notebook.time, "sleep", lambda _: None)

    assert summarize("logs", is_over=True).answer == {"state": "finished"}


def test_a_training_under_way_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(notebook, "diagnose", lambda *_: {"state": "running"})

    assert summarize("logs", is_over=False).answer == {"state": "running"}


def test_ipython_chooses_the_page(monkeypatch):
    formatters = pytest.importorskip("IPython.core.formatters")
    data, _ = formatters.DisplayFormatter().format(Summary(None, "Nothing to tell."))

    assert data["text/html"] == "<p>Nothing to tell.</p>"
    assert data["text/plain"] == data["text/markdown"] == "Nothing to tell."


@pytest.mark.live
def test_a_fit_and_a_loop_are_summed_up_at_once(tmp_path: Path):
    import keras
    import numpy as np

    from tb_health_plugin import HealthCallback, watch

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.zeros((64, 4), "float32")
    health = HealthCallback(tmp_path / "fit")
    model.fit(x, x[:, :1], epochs=6, verbose=0, callbacks=[health])

    assert "Finished as planned at step 12" in repr(health.summary())

    with watch(tmp_path / "loop", model=model) as loop:
        for _ in range(12):
            loop.step(loss=model.train_on_batch(x, x[:, :1]))
        assert loop.summary().answer["state"] == "running"
    assert loop.summary().answer["state"] == "finished"


@pytest.mark.live
def test_cells_that_fail_are_interrupted_or_run_again_make_one_run(tmp_path: Path):
    pytest.importorskip("IPython")
    done = subprocess.run(
        [sys.executable, "-m", "tests.notebook_cells", str(tmp_path / "run")],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )

    said = json.loads(done.stdout.splitlines()[-1])
    assert {name: one["state"] for name, one in said.items()} == {
        "before": "running",
        "refused": "failed",
        "raised": "failed",
        "interrupted": "ended_early",
        "run again": "finished",
        "elsewhere": "finished",
        "refused later": "failed",
        "all again": "finished",
    }
    assert "ended with AttributeError" in said["before"]["headline"]
    assert said["refused"]["headline"].startswith("Types do not fit before")
    assert "ValueError" in said["raised"]["headline"]
    assert {one["attempts"] for one in said.values()} == {1}
