"""The vocabulary of settings: the names under which a training says how it was set.

Values are text as Python shows it. A setting that could not be seen is absent. No
arguments, no environment as a whole, nothing that may be secret.
"""

# Of `RunStarted`: the process.
PROCESS = {
    "python": "Version of Python.",
    "tensorflow": "Version of TensorFlow.",
    "keras": "Version of Keras.",
    "tensorboard": "Version of TensorBoard.",
    "platform": "Operating system and machine type.",
    "git_commit": "Commit of the program's own repository.",
    "env.*": "One variable of the environment that changes how TensorFlow runs.",
}

# Of `TrainingStarted`: one call of `fit`, or one loop.
TRAINING = {
    "tensorflow": "Version of TensorFlow.",
    "keras": "Version of Keras.",
    "model": "Class of the model.",
    "train_step": '"keras", or "custom" if the model has its own.',
    "optimizer": "Class of the optimizer.",
    "optimizer.*": "One of its plain settings: learning_rate, clipnorm, epsilon, …",
    "learning_rate_schedule": "Class of the schedule, if there is one.",
    "loss": "The loss as given: a name, or the class and its plain settings.",
    "loss.from_logits": "Whether the loss expects logits, if it says so.",
    "metrics": "Names of the metrics, joined by commas.",
    "jit_compile": "Whether XLA compiles the step.",
    "run_eagerly": "Whether steps run without a graph.",
    "steps_per_execution": "Steps that one call runs.",
    "dtype_policy": "The model's policy for number types.",
    "strategy": "Class of the distribution strategy, if it is not the default one.",
    "replicas": "Replicas in sync.",
    "batch_size": "Rows of a batch, as given or as seen in the first one.",
    "epochs": "Epochs as given.",
    "steps_per_epoch": "Steps per epoch as given.",
    "validation_steps": "Batches of a validation as given.",
    "validation_split": "Share of the data kept for validation.",
    "shuffle": "Whether fit was told to shuffle.",
    "class_weight": '"given" if it was.',
    "sample_weight": '"given" if it was.',
    "callbacks": "Classes of the callbacks, joined by commas; ours left out.",
    "data.kind": '"arrays", "tf.data", "PyDataset", "generator" or another class.',
    "data.batches": "Batches in one pass over the data, if it is finite and tells.",
    "data.infinite": '"True" if it says that it never ends.',
    "data.examples": "Rows in the data, if it tells.",
    "data.workers": "Workers of a PyDataset.",
    "data.use_multiprocessing": "Whether those are processes.",
    "data.prefetch": '"True" if the pipeline ends in a prefetch.',
    "data.parallel": '"True" if one of its maps runs in parallel; "False" if none does.',
    "data.shuffle": '"True" if it has a shuffle.',
    "data.repeat": '"True" if it has a repeat.',
    "data.cache": '"True" if it has a cache.',
    "data.stages": "Kinds of its stages from source to end, joined by commas.",
    "validation.kind": "The same for the validation data.",
    "validation.batches": "The same for the validation data.",
    "validation.infinite": "The same for the validation data.",
    "threads.intra_op": "Threads inside one operation; 0: TensorFlow chooses.",
    "threads.inter_op": "Operations at the same time; 0: TensorFlow chooses.",
    "cpus": "CPUs that the process may use.",
    "gpus": "GPUs that TensorFlow sees.",
}
