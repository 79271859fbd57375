"""What those who made the parts say themselves: official pages for every verdict."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Doc:
    """A page by its own title, as a reader would search for it."""

    name: str
    url: str


_KERAS = "https://keras.io"
_TENSORFLOW = "https://www.tensorflow.org"
_PYTHON = "https://docs.python.org/3/library"
_MANUAL = "https://man7.org/linux/man-pages"

_DATA_PERFORMANCE = Doc(
    "TensorFlow guide: Better performance with the tf.data API",
    f"{_TENSORFLOW}/guide/data_performance",
)
_DATA = Doc(
    "TensorFlow guide: tf.data: Build TensorFlow input pipelines",
    f"{_TENSORFLOW}/guide/data",
)
_FUNCTIONS = Doc(
    "TensorFlow guide: Better performance with tf.function",
    f"{_TENSORFLOW}/guide/function",
)
_GPU_PERFORMANCE = Doc(
    "TensorFlow guide: Optimize TensorFlow GPU performance",
    f"{_TENSORFLOW}/guide/gpu_performance_analysis",
)
_WORKERS = Doc(
    "TensorFlow tutorial: Multi-worker training with Keras",
    f"{_TENSORFLOW}/tutorials/distribute/multi_worker_with_keras",
)
_OVERFIT = Doc(
    "TensorFlow tutorial: Overfit and underfit",
    f"{_TENSORFLOW}/tutorials/keras/overfit_and_underfit",
)
_NUMERICS = Doc(
    "TensorFlow API: tf.debugging.enable_check_numerics",
    f"{_TENSORFLOW}/api_docs/python/tf/debugging/enable_check_numerics",
)
_FIT = Doc(
    "Keras API: Model training APIs, fit",
    f"{_KERAS}/api/models/model_training_apis/",
)
_CALLBACKS = Doc(
    "Keras guide: Writing your own callbacks",
    f"{_KERAS}/guides/writing_your_own_callbacks/",
)
_CHECKPOINT = Doc(
    "Keras API: ModelCheckpoint", f"{_KERAS}/api/callbacks/model_checkpoint/"
)
_BACKUP = Doc(
    "Keras API: BackupAndRestore", f"{_KERAS}/api/callbacks/backup_and_restore/"
)
_LOSSES = Doc("Keras API: Losses", f"{_KERAS}/api/losses/")
_OPTIMIZERS = Doc("Keras API: Optimizers", f"{_KERAS}/api/optimizers/")
_INITIALIZERS = Doc(
    "Keras API: Layer weight initializers", f"{_KERAS}/api/layers/initializers/"
)
_DEBUGGING = Doc(
    "Keras example: Keras debugging tips",
    f"{_KERAS}/examples/keras_recipes/debugging_tips/",
)
_CONTAINERS = Doc(
    "Docker documentation: Resource constraints",
    "https://docs.docker.com/engine/containers/resource_constraints/",
)
_SIGNALS = Doc("Linux manual: signal(7)", f"{_MANUAL}/man7/signal.7.html")
_LIMITS = Doc("Linux manual: getrlimit(2)", f"{_MANUAL}/man2/getrlimit.2.html")
_PRESSURE = Doc(
    "Linux kernel: PSI - Pressure Stall Information",
    "https://docs.kernel.org/accounting/psi.html",
)
_FAULTS = Doc(
    "Python library: faulthandler - Dump the Python traceback",
    f"{_PYTHON}/faulthandler.html",
)

# The one that helps most comes first. Verdicts without a page have none that would.
OFFICIAL: Mapping[str, tuple[Doc, ...]] = {
    "host_oom": (_DATA_PERFORMANCE, _CONTAINERS),
    "memory_leak": (_FUNCTIONS, _DATA_PERFORMANCE),
    "alloc_failure": (_DATA_PERFORMANCE,),
    "gpu_oom": (
        Doc("TensorFlow guide: Use a GPU", f"{_TENSORFLOW}/guide/gpu"),
        Doc(
            "Keras API: Mixed precision policy",
            f"{_KERAS}/api/mixed_precision/policy/",
        ),
    ),
    "swap_thrash": (_DATA_PERFORMANCE, _PRESSURE),
    "handle_limit": (_LIMITS,),
    "cpu_limited": (
        _CONTAINERS,
        Doc(
            "TensorFlow API: tf.config.threading",
            f"{_TENSORFLOW}/api_docs/python/tf/config/threading",
        ),
    ),
    "disk_full": (_CHECKPOINT,),
    "checkpoint_failure": (_CHECKPOINT,),
    "disk_slow": (_CHECKPOINT,),
    "input_bound": (
        _DATA_PERFORMANCE,
        Doc(
            "TensorFlow guide: Analyze tf.data performance with the TF Profiler",
            f"{_TENSORFLOW}/guide/data_performance_analysis",
        ),
    ),
    "slow_callback": (_CALLBACKS,),
    "retracing": (_FUNCTIONS,),
    "slow_step": (_FUNCTIONS, _GPU_PERFORMANCE),
    "gpu_idle": (_GPU_PERFORMANCE, _DATA_PERFORMANCE),
    "gpu_throttled": (
        Doc(
            "NVIDIA: nvidia-smi documentation",
            "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
        ),
    ),
    "gpu_fault": (
        Doc(
            "NVIDIA: XID Errors",
            "https://docs.nvidia.com/deploy/xid-errors/index.html",
        ),
    ),
    "killed_outside": (_SIGNALS, _BACKUP),
    "preempted": (_BACKUP,),
    "machine_lost": (_BACKUP,),
    "explicit_exit": (Doc("Python library: sys.exit", f"{_PYTHON}/sys.html"),),
    "callback_stop": (
        Doc("Keras API: EarlyStopping", f"{_KERAS}/api/callbacks/early_stopping/"),
    ),
    "callback_error": (_CALLBACKS,),
    "code_error": (_DEBUGGING,),
    "native_crash": (_FAULTS,),
    "data_exhausted": (_FIT, _DATA),
    "input_error": (_DATA,),
    "bad_input_values": (_NUMERICS,),
    "label_problem": (
        Doc(
            "Keras API: Probabilistic losses",
            f"{_KERAS}/api/losses/probabilistic_losses/",
        ),
    ),
    "unscaled_data": (
        Doc(
            "Keras API: Normalization layer",
            f"{_KERAS}/api/layers/preprocessing_layers/numerical/normalization/",
        ),
    ),
    "unshuffled_data": (
        Doc(
            "TensorFlow API: tf.data.Dataset, shuffle",
            f"{_TENSORFLOW}/api_docs/python/tf/data/Dataset",
        ),
    ),
    "shape_mismatch": (
        _LOSSES,
        Doc(
            "NumPy manual: Broadcasting",
            "https://numpy.org/doc/stable/user/basics.broadcasting.html",
        ),
    ),
    "nan_op": (_NUMERICS,),
    "lr_too_high": (_OPTIMIZERS,),
    "lr_too_low": (_OPTIMIZERS,),
    "exploding_gradients": (_OPTIMIZERS, _INITIALIZERS),
    "vanishing_gradients": (_INITIALIZERS,),
    "dead_relu": (
        Doc(
            "Keras API: LeakyReLU layer",
            f"{_KERAS}/api/layers/activation_layers/leaky_relu/",
        ),
    ),
    "bad_init": (_INITIALIZERS,),
    "no_gradient": (
        Doc(
            "TensorFlow guide: Introduction to gradients, Getting a gradient of None",
            f"{_TENSORFLOW}/guide/autodiff",
        ),
    ),
    "weights_not_updated": (
        Doc(
            "Keras guide: Transfer learning & fine-tuning",
            f"{_KERAS}/guides/transfer_learning/",
        ),
    ),
    "wrong_output_loss": (_LOSSES,),
    "overfitting": (_OVERFIT,),
    "undertrained": (_OVERFIT,),
    "over_regularised": (
        Doc(
            "Keras API: Layer weight regularizers", f"{_KERAS}/api/layers/regularizers/"
        ),
    ),
    "not_learning": (_DEBUGGING,),
    "input_hang": (_DATA, _FAULTS),
    "callback_hang": (_CALLBACKS, _FAULTS),
    "compute_hang": (_FUNCTIONS, _FAULTS),
    "endless_epoch": (_FIT,),
    "stopped_process": (_SIGNALS,),
    "peer_lost": (_WORKERS,),
    "straggler": (_WORKERS,),
}


def official(id: str) -> tuple[Doc, ...]:
    """Pages for a verdict; none if nobody wrote one that would help."""
    return OFFICIAL.get(id, ())
