"""What is said when a GPU has no memory to give, in the words of several versions.

The versions beside them are those of public reports that have these words.
"""

import pytest

from tb_health_plugin.diagnosis.cuda_words import fault, library_failed, missing_part
from tb_health_plugin.diagnosis.gpu_words import refusal

GIB = float(1 << 30)
MIB = float(1 << 20)
NOT_GIVEN = "2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY"
# The end of what the allocator logs (TensorFlow 2.4 and later), shortened.
DUMP = """\
W bfc_allocator.cc:497] Allocator (GPU_1_bfc) ran out of memory trying to allocate \
512.00MiB (rounded to 536870912)requested by op model/conv2d/Conv2D
If the cause is memory fragmentation maybe the environment variable helps.
I core/bfc_allocator.cc:1039] Bin (256): \tTotal Chunks: 12, Chunks in use: 12.
I core/bfc_allocator.cc:1068] Free  at 7f0000000000 of size 134217728 next 11
I core/bfc_allocator.cc:1068] InUse at 7f0010000000 of size 999134217728 next 12
I core/bfc_allocator.cc:1068] Free  at 7f0020000000 of size 402653184 next 18446744
I core/bfc_allocator.cc:1099] total_region_allocated_bytes_: 8589934592 \
memory_limit_: 8589934592 available bytes: 0 curr_region_allocation_bytes_: 17179869184
I core/bfc_allocator.cc:1106] Stats:
Limit:                      8589934592
InUse:                      7516192768
MaxInUse:                   8053063680
NumAllocs:                       12345
MaxAllocSize:               1207959552
Reserved:                            0
PeakReserved:                        0
LargestFreeBlock:                    0
W core/bfc_allocator.cc:498] ****************x
"""


@pytest.mark.parametrize(
    ("said", "asked", "gpu"),
    [
        # TensorFlow 2.x, in a graph and eager.
        (
            "OOM when allocating tensor with shape[64,512,512,64] and type float on "
            "/job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc",
            4 * GIB,
            1,
        ),
        (
            "{{function_node __wrapped__Mul}} OOM when allocating tensor with shape"
            "[1024,1024] and type half on /job:localhost/replica:0/task:0/device:GPU:0 "
            "by allocator gpu_async_0 [Op:Mul]",
            2 * MIB,
            0,
        ),
        # XLA without TensorFlow's allocator, as in JAX.
        (
            "Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 0"
            ": CUDA_ERROR_OUT_OF_MEMORY",
            2 * GIB,
            None,
        ),
        # The driver, in 1.3 to 2.6 and later.
        (f"failed to allocate {NOT_GIVEN}", 2 * GIB, None),
        (
            "INTERNAL: failed to allocate 2.00GiB (2147483648 bytes) from device: "
            "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
            2 * GIB,
            None,
        ),
        # The asynchronous allocator: its first version, 2.x, and XLA of 2025.
        (
            "gpu_async_0 cuMemAllocAsync failed to allocate 1048576: CUDA error: out "
            "of memory (CUDA_ERROR_OUT_OF_MEMORY)\n Free memory/Total memory: 5/8",
            MIB,
            0,
        ),
        (
            "gpu_async_0 cuMemAllocAsync failed to allocate 1048576 bytes: CUDA error: "
            "out of memory (CUDA_ERROR_OUT_OF_MEMORY)",
            MIB,
            0,
        ),
        (
            "gpu_async_3 cuMemAllocAsync failed to allocate 1048576 bytes: "
            "RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory",
            MIB,
            3,
        ),
        # A kernel that could not be loaded, 2.12.
        (
            "Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
            None,
            None,
        ),
        # Libraries, in all versions.
        ("Failed to create handle: CUDNN_STATUS_ALLOC_FAILED", None, None),
        ("Blas GEMM launch failed: CUBLAS_STATUS_ALLOC_FAILED", None, None),
        # A batch that did not get there, 2.x.
        (
            "Failed copying input tensor from /job:localhost/replica:0/task:0/device:"
            "CPU:0 to /job:localhost/replica:0/task:0/device:GPU:0 in order to run "
            "_EagerConst: Dst tensor is not initialized.",
            None,
            None,
        ),
        # PyTorch under Keras.
        ("CUDA out of memory. Tried to allocate 20.00 MiB.", 20 * MIB, None),
    ],
)
def test_a_gpu_refuses(said: str, asked: float | None, gpu: int | None):
    told = refusal(said)

    assert told.on_gpu
    assert told.asked_bytes == asked
    assert told.gpu == gpu


@pytest.mark.parametrize(
    "said",
    [
        # XLA in 1.15 to 2.1x, and since 2025.
        "Out of memory while trying to allocate 6291456 bytes.",
        "Out of memory while trying to allocate 6.00MiB.",
        "Out of memory while trying to allocate 6.00MiB. [executable_name='step']",
    ],
)
def test_xla_does_not_say_where(said: str):
    told = refusal(said)

    assert (told.on_gpu, told.asked_bytes) == (None, 6 * MIB)


def test_the_first_versions_did_not_say_where_either():
    told = refusal("OOM when allocating tensor with shape[123008,500]")

    assert (told.on_gpu, told.asked_bytes) == (None, None)


def test_what_the_allocator_logged():
    told = refusal("Dst tensor is not initialized.", DUMP)

    assert (told.gpu, told.op) == (1, "model/conv2d/Conv2D")
    assert told.asked_bytes == 512 * MIB
    assert (told.limit_bytes, told.used_bytes) == (8 * GIB, 7 * GIB)
    assert told.reserved_bytes == 8 * GIB
    assert told.largest_bytes == 384 * MIB


def test_the_driver_said_what_is_free():
    logged = "Reported by CUDA: Free memory/Total memory: 95879168/4231135232\n"

    assert refusal("", logged).free_bytes == 95879168.0


@pytest.mark.parametrize(
    "said",
    [
        "failed to alloc 966367744 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of m",
        "could not allocate pinned host memory of size: 966367744",
        "OOM when allocating tensor with shape[8] and type float on /job:localhost/"
        "replica:0/task:0/device:CPU:0 by allocator mklcpu",
    ],
)
def test_memory_of_the_machine_is_not_the_gpus(said: str):
    assert refusal(said).on_gpu is False


@pytest.mark.parametrize(
    "said",
    [
        "Received message larger than max (9000000 vs. 4194304)",
        "/data/a.tfrecord; No space left on device",
        "Quota of requests exceeded",
        "the GPU option must be one of 0, 1",
        "Allocation of 79148544 exceeds 10% of free system memory.",
        "Can't reduce memory use below 2.58GiB (2770272256 bytes) by rematerialization",
        "Created device GPU:0 with 13272 MB memory",
        "Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0",
        "",
    ],
)
def test_what_is_no_refusal(said: str):
    told = refusal(said)

    assert (told.on_gpu, told.asked_bytes) == (None, None)
    assert fault(said) is None
    assert missing_part(said) is None
    assert library_failed(said) is None


def test_a_try_that_may_fail_is_no_refusal():
    logged = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.16GiB with "
        "freed_by_count=0. The caller indicates that this is not a failure, but may "
        "mean that there could be performance gains if more memory were available."
    )

    told = refusal("", logged)

    assert (told.on_gpu, told.asked_bytes, told.op) == (None, None, None)
