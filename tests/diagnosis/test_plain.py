"""A run without our hook: what its scalars tell, and not a word more."""

import json
import math
import re
from pathlib import Path

import jsonschema
import pytest

import tb_health_plugin
from tb_health_plugin import diagnose
from tb_health_plugin.cli.main import HEALTHY, PROBLEM_FOUND, USAGE_ERROR, main
from tests.plain_events import write_scalars

SCHEMA = Path(tb_health_plugin.__file__).parent / "diagnosis/verdict.schema.json"
FALLING = [1.0 / (1 + step) for step in range(40)]


def texts(answer) -> str:
    return " ".join(one["text"] for one in answer["verdict"]["evidence"])


def test_the_last_step_is_known_and_the_end_is_not(tmp_path: Path, capsys):
    write_scalars(tmp_path / "run", {"loss": FALLING})

    assert main(["why", str(tmp_path)]) == HEALTHY

    said = capsys.readouterr().out
    assert said.startswith("run · Not monitored · partial: from its scalars alone\n")
    assert "Not monitored; last logged at step 39" in said
    assert "The last point is step 39, 1970-01-01 00:17:19 UTC." in said
    assert 'callbacks=[HealthCallback("logs/run1")]' in said
    assert "how it ended" in said


def test_the_answer_is_marked_as_partial_and_fits_the_schema(tmp_path: Path):
    write_scalars(tmp_path / "run", {"loss": FALLING})

    answer = diagnose(tmp_path)

    assert answer["partial"] is True
    jsonschema.validate(answer, json.loads(SCHEMA.read_text()))


def test_a_loss_that_turned_nan_is_a_problem(tmp_path: Path, capsys):
    write_scalars(tmp_path / "run", {"train/loss": [*FALLING, math.nan, math.nan]})

    assert main(["why", str(tmp_path)]) == PROBLEM_FOUND
    assert "The loss is NaN since step 40" in capsys.readouterr().out


def test_a_metric_that_is_nan_is_none(tmp_path: Path):
    write_scalars(tmp_path / "run", {"loss": FALLING, "precision": [math.nan] * 40})

    assert diagnose(tmp_path)["verdict"]["severity"] == "info"


def test_overfitting_shows_in_the_runs_that_keras_writes(tmp_path: Path):
    rising = [0.5 - 0.02 * epoch for epoch in range(10)]
    rising += [0.3 + 0.03 * epoch for epoch in range(30)]
    write_scalars(tmp_path / "run/train", {"epoch_loss": FALLING})
    write_scalars(tmp_path / "run/validation", {"epoch_loss": rising})

    answer = diagnose(tmp_path)

    assert answer["run"] == "run"
    assert answer["verdict"]["id"] == "overfitting"
    assert "Overfitting since epoch 11" in answer["verdict"]["headline"]


def test_the_list_and_the_bars_tell_the_same(tmp_path: Path, capsys):
    rising = [0.5 - 0.02 * epoch for epoch in range(10)]
    rising += [0.3 + 0.03 * epoch for epoch in range(30)]
    later = [1_000.1 + epoch for epoch in range(40)]
    write_scalars(tmp_path / "run/train", {"epoch_loss": FALLING})
    write_scalars(tmp_path / "run/validation", {"epoch_loss": rising}, times=later)
    write_scalars(tmp_path / "good", {"loss": FALLING})

    assert main(["list", str(tmp_path)]) == PROBLEM_FOUND
    good, bad = capsys.readouterr().out.splitlines()
    assert good == "good: Not monitored; last logged at step 39"
    assert bad.startswith("run: Overfitting since epoch 11")
    assert bad.endswith(" (partial: from its scalars alone)")

    assert main(["show", str(tmp_path), "--run", "run"]) == PROBLEM_FOUND
    shown = capsys.readouterr().out
    assert shown.startswith("run · Not monitored · step 39")
    assert re.search(r"Loss: Training .* 0\.025 to 1", shown)
    assert re.search(r"Loss: Validation .* 0\.3 to 1\.17", shown)


def test_validation_that_follows_is_no_overfitting(tmp_path: Path):
    write_scalars(tmp_path / "run/train", {"epoch_loss": FALLING})
    write_scalars(tmp_path / "run/validation", {"epoch_loss": FALLING})

    assert diagnose(tmp_path)["findings"] == []


@pytest.mark.parametrize(("tail", "stands"), [(0.2, True), (0.02, False)])
def test_a_loss_that_stands_still_is_noted_not_blamed(tmp_path, tail, stands):
    course = [max(0.2, 1.0 - 0.1 * step) for step in range(20)]
    course += [0.2 + (tail - 0.2) * step / 20 for step in range(20)]
    write_scalars(tmp_path / "run", {"loss": course})

    answer = diagnose(tmp_path)

    assert ("has not fallen since step" in texts(answer)) is stands
    assert answer["verdict"]["severity"] == "info"


def test_a_pause_is_told_with_its_steps(tmp_path: Path):
    times = [float(step) + (3_600.0 if step > 24 else 0.0) for step in range(40)]
    write_scalars(tmp_path / "run", {"loss": FALLING}, times=times)

    assert "Nothing was logged for 60 minutes between step 24 and 25" in texts(
        diagnose(tmp_path)
    )


def test_slow_logging_is_no_pause(tmp_path: Path):
    write_scalars(tmp_path / "run", {"loss": FALLING}, seconds=600.0)

    assert "Nothing was logged" not in texts(diagnose(tmp_path))


def test_a_monitored_run_comes_first(tmp_path: Path, write_attempt):
    from tb_health_plugin.events import facts

    write_scalars(tmp_path / "logs/plain", {"loss": FALLING})
    write_attempt("told", told=[facts.RunStarted(wall_time=1.0, pid=1)])

    assert diagnose(tmp_path / "logs")["run"] == "told"
    assert diagnose(tmp_path / "logs", "plain")["partial"] is True


def test_event_files_without_scalars_are_one_clear_sentence(tmp_path: Path, capsys):
    (tmp_path / "events.out.tfevents.1.host").touch()

    assert main(["why", str(tmp_path)]) == USAGE_ERROR
    assert "only event files of TensorBoard" in capsys.readouterr().err
