"""A GPU without memory left: which of three causes, and what would have fitted."""

from collections.abc import Mapping, Sequence

import pytest

from tb_health_plugin.diagnosis.engine import judge
from tb_health_plugin.diagnosis.rules.gpu_oom import RULE
from tb_health_plugin.events import facts
from tests.diagnosis.exceptions.raising import in_graph
from tests.diagnosis.rules.histories import (
    GONE,
    START,
    ask,
    attempt_of,
    run_started,
    seconds_of,
    training_ended,
    training_started,
)

GIB = float(1 << 30)
# 2 GiB of floats.
ASKED = (
    "OOM when allocating tensor with shape[128,64,256,256] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)
LAYER = facts.Layer(name="conv2d_1", kind="Conv2D")


def dump(limit: float, used: float, reserved: float | None = None) -> str:
    region = f"total_region_allocated_bytes_: {reserved or limit:.0f} memory_limit_\n"
    return f"{region}Stats: \nLimit:   {limit:.0f}\nInUse:   {used:.0f}\n"


def run(
    *more: facts.Fact,
    said: str = in_graph(ASKED, "model/conv2d_1/convolution"),
    logged: str = "",
    batch: str | None = "128",
    columns: Mapping[str, float] | None = None,
    facts_only: bool = False,
    parameters: int = 10_000_000,
):
    settings = {"optimizer": "Adam", "gpus": "1"}
    if batch:
        settings["batch_size"] = batch
    told: Sequence[facts.Fact] = (
        run_started(**{"gpu.0.name": "A100", "gpu.0.uuid": "GPU-1"}),
        training_started(
            settings=settings, trainable_parameters=parameters, layers=(LAYER,)
        ),
        *more,
        training_ended(
            20, 0, reason="raised", exception="ResourceExhaustedError", message=said
        ),
        facts.ProcessEnded(wall_time=START + 21, output_tail=logged, exit_code=1),
    )
    samples = {
        "wall_time": seconds_of(20),
        **{f"gpu0_{name}": [value] * 20 for name, value in (columns or {}).items()},
    }
    if facts_only:
        return judge(attempt_of(*told, samples=samples), GONE)
    return ask(RULE, *told, samples=samples)


def allocator(used: float, peak: float, **more) -> facts.GpuAllocator:
    return facts.GpuAllocator(
        wall_time=START + 19,
        training=0,
        gpu=0,
        used_bytes=used,
        peak_bytes=peak,
        **more,
    )


def other(size: float, pid: int = 4711) -> facts.GpuShared:
    return facts.GpuShared(
        wall_time=START + 1,
        gpu=0,
        pid=pid,
        name="python -m ipykernel_launcher",
        memory_bytes=size,
    )


FULL = {"memory_total_bytes": 16 * GIB, "memory_free_bytes": 0.2 * GIB}


def test_the_step_needs_more_than_there_is():
    found = run(logged=dump(15 * GIB, 14 * GIB), columns=FULL)

    assert found.detail == "exhausted"
    assert found.headline.endswith("before the first step was done, in conv2d_1")
    assert found.place["layer"] == "conv2d_1"
    texts = " ".join(one.text for one in found.evidence)
    assert "2.0 GiB more were asked for at once" in texts
    assert "14.0 GiB of 15.0 GiB of TensorFlow's pool" in texts
    assert "205 MiB of 16.0 GiB were free" in texts


def test_the_batch_that_would_have_fitted():
    found = run(logged=dump(15 * GIB, 14 * GIB))

    # 16 GiB were needed, 0.15 of them whatever the batch; 14.25 can be had.
    (fix,) = [one for one in found.fixes if "batch" in one.title]
    assert fix.code == "batch_size=64"
    assert "With 128 rows at least 16.0 GiB were needed" in fix.why
    assert "An estimate" in fix.why


def test_it_is_estimated_from_the_peak_where_nothing_was_logged():
    found = run(allocator(0.5 * GIB, 14 * GIB), columns=FULL)

    assert found.fixes[0].code == "batch_size=64"


def test_not_even_one_row_fits():
    found = run(logged=dump(15 * GIB, 14 * GIB), parameters=1_000_000_000)

    assert "smaller model" in found.fixes[0].title


def test_another_process_holds_what_is_missing():
    columns = {**FULL, "memory_others_bytes": 9 * GIB, "other_pid": 4711.0}
    logged = dump(15 * GIB, 5 * GIB, reserved=5.1 * GIB)
    found = run(other(9 * GIB), logged=logged, columns=columns)

    assert found.detail == "another_process"
    assert found.chip == "GPU memory taken"
    assert found.confidence == "proven"
    assert "python -m ipykernel_launcher holds a part of it" in found.headline
    assert found.fixes[0].code == "ps -fp 4711"
    assert "9.0 GiB" in found.fixes[0].why


def test_another_process_where_nobody_knows_what_this_one_used():
    columns = {**FULL, "memory_others_bytes": 9 * GIB}

    found = run(columns=columns)

    assert (found.detail, found.confidence) == ("another_process", "likely")


def test_pieces():
    found = run(logged=dump(15 * GIB, 10 * GIB), columns=FULL)

    assert found.detail == "fragmented"
    assert "cuda_malloc_async" in found.fixes[0].code


def test_a_desktop_on_the_same_gpu_is_no_reason():
    columns = {**FULL, "memory_others_bytes": 0.4 * GIB}
    found = run(other(0.4 * GIB), logged=dump(15 * GIB, 14 * GIB), columns=columns)

    assert found.detail == "exhausted"


def test_others_are_no_reason_if_it_would_not_have_fitted_alone():
    columns = {**FULL, "memory_others_bytes": 3 * GIB}
    found = run(other(3 * GIB), logged=dump(15 * GIB, 14 * GIB), columns=columns)

    assert found.detail == "exhausted"


def test_without_any_number_nothing_is_estimated():
    found = run()

    assert found.detail == "exhausted"
    assert found.fixes[0].code == "batch_size=64"
    assert found.fixes[0].title == "Halve the batch size"


@pytest.mark.parametrize("batch", [None, "1"])
def test_no_batch_size_no_estimate(batch: str | None):
    found = run(logged=dump(15 * GIB, 14 * GIB), batch=batch)

    assert not [one for one in found.fixes if one.code and "batch_size" in one.code]


def test_a_layer_that_the_model_does_not_have_is_not_named():
    said = in_graph(ASKED, "gradients/AddN_7")

    assert "layer" not in run(said=said).place


def test_memory_of_the_machine_is_another_verdict():
    said = ASKED.replace("GPU", "CPU")

    assert run(said=said) is None


def test_other_ends():
    assert run(said="indices[3] = 9 is not in [0, 4)") is None


def test_the_whole_answer_has_it_once():
    story = run(logged=dump(15 * GIB, 14 * GIB), columns=FULL, facts_only=True)

    assert [one.id for one in story.findings] == ["gpu_oom"]
    assert story.verdict.place["layer"] == "conv2d_1"
