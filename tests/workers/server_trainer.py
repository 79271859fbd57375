"""One task of a training with parameter servers; `TF_CONFIG` says which one.

Arguments: the log directory, the steps, and whether its variables are "even" on the
servers or "uneven", most of them on the first one.
"""

import sys

import tensorflow as tf

import tb_health_plugin

ROWS = 32_768
WIDTH = 256


def main(logdir: str, steps: int, spread: str) -> None:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type != "chief":
        serve(resolver)
    else:
        train(resolver, logdir, steps, spread)


def serve(resolver: tf.distribute.cluster_resolver.ClusterResolver) -> None:
    """Until somebody ends it, as every such server."""
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
    )
    server.join()


def train(
    resolver: tf.distribute.cluster_resolver.ClusterResolver,
    logdir: str,
    steps: int,
    spread: str,
) -> None:
    partitioner = None
    if spread == "even":
        partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    strategy = tf.distribute.ParameterServerStrategy(
        resolver, variable_partitioner=partitioner
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        # Without shards each one goes to the next server as a whole.
        weights = tf.Variable(tf.ones((ROWS, WIDTH)))
        bias = tf.Variable(tf.ones((2,)))

    @tf.function
    def one() -> tf.Tensor:
        whole = tf.convert_to_tensor(weights)
        for part in getattr(weights, "variables", [weights]):
            part.assign_sub(0.001 * tf.ones_like(part))
        return tf.reduce_mean(whole) + tf.reduce_mean(tf.convert_to_tensor(bias))

    with tb_health_plugin.watch(logdir) as health:
        for step in range(steps):
            loss = coordinator.schedule(one)
            health.step(loss=loss.fetch())
            print("step", step, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
