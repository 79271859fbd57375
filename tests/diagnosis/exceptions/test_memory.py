"""Allocations that were refused, and what only sounds like it."""

import pytest

from tb_health_plugin.events import facts
from tests.diagnosis.exceptions.raising import in_graph, in_python, raised

GIB = float(1 << 30)
ON_GPU = (
    "OOM when allocating tensor with shape[64,512,512,64] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)
ON_CPU = (
    "{{function_node __wrapped__Fill}} OOM when allocating tensor with shape[8,2000000]"
    " and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator "
    "mklcpu [Op:Fill] name: "
)


@pytest.mark.parametrize(
    ("exception", "message", "asked"),
    [
        ("ResourceExhaustedError", ON_CPU, "61 MiB"),
        (
            "_ArrayMemoryError",
            "Unable to allocate 12.5 GiB for an array with shape (1000, 1677722) and "
            "data type float64",
            "12.5 GiB",
        ),
        ("MemoryError", "", None),
        ("OSError", "[Errno 12] Cannot allocate memory", None),
        (
            "UnknownError",
            in_python(
                "MemoryError: Unable to allocate 3.00 GiB for an "
                "array with shape (3,) and data type float32"
            ),
            "3.0 GiB",
        ),
        ("RuntimeError", "std::bad_alloc", None),
        (
            "InternalError",
            "failed to allocate memory: failed to alloc 1073741824 bytes on host: "
            "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
            "1.0 GiB",
        ),
    ],
)
def test_of_the_machine(exception: str, message: str, asked: str | None):
    told = raised(exception, message)

    assert told.verdict.id == "alloc_failure"
    assert told.verdict.confidence == "proven"
    start = f"{asked} of memory were" if asked else "Memory was"
    assert told.headline == f"{start} asked for and refused at step 1,234"


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        ("ResourceExhaustedError", in_graph(ON_GPU)),
        (
            "InternalError",
            "Failed copying input tensor from CPU:0 to GPU:0 in order to "
            "run _EagerConst: Dst tensor is not initialized.",
        ),
        (
            "InternalError",
            "failed call to cuInit: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        ),
        ("InternalError", "Blas GEMM launch failed: CUBLAS_STATUS_ALLOC_FAILED"),
    ],
)
def test_of_the_gpu(exception: str, message: str):
    told = raised(exception, message, settings={"batch_size": "64"})

    assert told.verdict.id == "gpu_oom"
    assert told.headline == "The GPU ran out of memory at step 1,234"
    assert told.verdict.fixes[0].code == "batch_size=32"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("float64", 'np.zeros((160000, 224), dtype="float32")'),
        (
            "uint8",
            'np.memmap("array.bin", dtype="uint8", mode="w+", shape=(160000, 224))',
        ),
        ("<U20", "cat -n /a/b.py | sed -n 2,12p"),
    ],
)
def test_the_array_that_was_asked_for(kind: str, code: str):
    told = raised(
        "_ArrayMemoryError",
        "Unable to allocate 9.00 GiB for an array with shape (160000, 224) and data "
        f"type {kind}",
        file="/a/b.py",
        line=7,
    )

    assert told.verdict.fixes[0].code == code


def test_xla_says_no_device_and_the_settings_do():
    message = "Out of memory while trying to allocate 1073741824 bytes."
    on_gpu = raised("ResourceExhaustedError", message, settings={"gpus": "1"})
    on_cpu = raised("ResourceExhaustedError", message, settings={"gpus": "0"})

    assert on_gpu.verdict.id == "gpu_oom"
    assert on_cpu.verdict.id == "alloc_failure"
    assert "1.0 GiB" in on_cpu.headline


def test_room_that_is_not_in_one_piece():
    logged = "Stats: \nLimit:  16106127360\nInUse:  4294967296\nMaxInUse: 9000000000\n"
    end = facts.ProcessEnded(wall_time=10.0, step=1_234, output_tail=logged)

    told = raised("ResourceExhaustedError", in_graph(ON_GPU), after=[end])

    assert told.verdict.detail == "fragmented"
    assert told.verdict.fixes[0].code == (
        "TF_GPU_ALLOCATOR=cuda_malloc_async python train.py"
    )


def test_a_pool_that_could_not_grow_is_not_in_pieces():
    logged = (
        "total_region_allocated_bytes_: 4831838208 memory_limit_: 16106127360\n"
        "Stats: \nLimit:  16106127360\nInUse:  4294967296\nMaxInUse: 4294967296\n"
    )
    end = facts.ProcessEnded(wall_time=10.0, step=1_234, output_tail=logged)

    told = raised("ResourceExhaustedError", in_graph(ON_GPU), after=[end])

    assert told.verdict.detail == "exhausted"


def test_no_algorithm_had_enough():
    """As TensorFlow 2.8 to 2.12 say it when cuDNN tries its ways."""
    message = (
        "No algorithm worked!  Error messages:\n  Profiling failure on CUDNN engine "
        "1#TC: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 16777216 "
        "bytes.\n  Profiling failure on CUDNN engine 0: RESOURCE_EXHAUSTED: Out of "
        "memory while trying to allocate 33554432 bytes."
    )

    told = raised("NotFoundError", in_graph(message))

    assert told.verdict.id == "gpu_oom"
    assert "16 MiB more" in " ".join(one.text for one in told.verdict.evidence)


# What the asynchronous allocator of XLA logs since 2025.
ASYNC = """\
E gpu_cudamallocasync_allocator.cc:361] gpu_async_1 cuMemAllocAsync failed to allocate \
4294967296 bytes: RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory
 Reported by CUDA: Free memory/Total memory: 1073741824/8589934592
E gpu_cudamallocasync_allocator.cc:366] Stats: Limit:                               0
InUse:                      6442450944
MaxInUse:                   6442450944
"""


def test_an_allocator_without_a_limit():
    end = facts.ProcessEnded(wall_time=10.0, step=1_234, output_tail=ASYNC)
    message = "Out of memory while trying to allocate 4.00GiB."

    told = raised("ResourceExhaustedError", in_graph(message), after=[end])

    texts = " ".join(one.text for one in told.verdict.evidence)
    assert (told.verdict.id, told.verdict.detail) == ("gpu_oom", "exhausted")
    assert "4.0 GiB more were asked for" in texts
    assert "1.0 GiB were free, as CUDA says." in texts
    assert "of 0 MiB" not in texts


def test_a_try_that_failed_earlier_is_not_the_cause():
    end = facts.ProcessEnded(wall_time=10.0, step=1_234, output_tail=ASYNC)

    told = raised("InvalidArgumentError", in_graph("Incompatible shapes"), after=[end])
    of_numpy = raised("MemoryError", "Unable to allocate 3.00 GiB", after=[end])

    assert told.verdict.id != "gpu_oom"
    assert of_numpy.verdict.id == "alloc_failure"


def test_what_was_free_is_told():
    samples = {
        "wall_time": [1.0, 2.0],
        "host_memory_total_bytes": [16 * GIB] * 2,
        "host_memory_used_bytes": [4 * GIB, 6 * GIB],
    }

    told = raised("MemoryError", "", samples=samples)

    texts = [one.text for one in told.verdict.evidence]
    assert "10.0 GiB were free at the last sample." in texts


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        ("ValueError", "memory must be one of 'gpu' and 'cpu'"),
        ("KeyError", "'memory'"),
        ("RuntimeError", "cannot allocate a new session: quota of the service"),
        ("ResourceExhaustedError", "Too many requests to the bucket (429)"),
        ("ResourceExhaustedError", "Received message larger than max (9 vs. 4)"),
        ("ValueError", "CUDA out of memory: choose a smaller --model"),
        ("ValueError", "OOM when allocating tensor is what this check is for"),
    ],
)
def test_what_only_sounds_like_it(exception: str, message: str):
    assert raised(exception, message).verdict.id == "code_error"
