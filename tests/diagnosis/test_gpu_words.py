"""What is said when a GPU refuses or fails, in the words of several versions."""

import pytest

from tb_health_plugin.diagnosis.gpu_words import (
    Fault,
    fault,
    library_failed,
    missing_part,
    refusal,
)

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
        # XLA as raised by TensorFlow, JAX, and its newer wording.
        (
            "Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 0"
            ": CUDA_ERROR_OUT_OF_MEMORY",
            2 * GIB,
            None,
        ),
        # The driver, before and after 2.13.
        (f"failed to allocate {NOT_GIVEN}", 2 * GIB, None),
        (
            "INTERNAL: failed to allocate 2.00GiB (2147483648 bytes) from device: "
            "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
            2 * GIB,
            None,
        ),
        # The asynchronous allocator.
        (
            "gpu_async_0 cuMemAllocAsync failed to allocate 1048576 bytes: CUDA error: "
            "out of memory (CUDA_ERROR_OUT_OF_MEMORY)",
            MIB,
            None,
        ),
        # Libraries.
        ("Failed to create handle: CUDNN_STATUS_ALLOC_FAILED", None, None),
        ("Blas GEMM launch failed: CUBLAS_STATUS_ALLOC_FAILED", None, None),
        # A batch that did not get there.
        (
            "Failed copying input tensor from CPU:0 to GPU:0 in order to run "
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


def test_xla_does_not_say_where():
    told = refusal("Out of memory while trying to allocate 6291456 bytes.")

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


@pytest.mark.parametrize(
    ("text", "kind", "by_program"),
    [
        (
            "Error polling for event status: failed to query event: "
            "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
            "illegal_address",
            True,
        ),
        (
            "could not synchronize on CUDA context: CUDA_ERROR_LAUNCH_FAILED: "
            "unspecified launch failure",
            "launch_failed",
            True,
        ),
        ("CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error", "ecc", False),
        ("Unable to determine the device handle: GPU is lost.", "lost", False),
        ("NVRM: Xid (PCI:0000:10:00): 79, GPU has fallen off the bus", "lost", False),
        ("NVRM: Xid (PCI:0000:10:00): 48, pid=1896, DBE", "xid 48", False),
        ("CUDA error: device-side assert triggered", "assertion", True),
        ("CUDA_ERROR_NVLINK_UNCORRECTABLE", "nvlink", False),
    ],
)
def test_faults(text: str, kind: str, by_program: bool):
    assert fault(text) == Fault(kind, by_program)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("INTERNAL: libdevice not found at ./libdevice.10.bc", "libdevice"),
        ("Couldn't invoke ptxas --version", "ptxas"),
        ("NOT_FOUND: ./bin/ptxas not found", "ptxas"),
        ("No PTX compilation provider is available. Neither ptxas", "ptxas"),
        ("CUDA driver version is insufficient for CUDA runtime version", "versions"),
        ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX", "versions"),
    ],
)
def test_parts_that_are_missing(text: str, part: str):
    assert missing_part(text) == part


@pytest.mark.parametrize(
    "text",
    [
        "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED",
        "failed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED",
        "Failed to get convolution algorithm. This is probably because cuDNN failed to "
        "initialize",
        "DNN library is not found.",
        "BLAS operation using StreamExecutor without BLAS support",
    ],
)
def test_libraries_that_did_not_start(text: str):
    assert library_failed(text)
