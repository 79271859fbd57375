"""The optimizer got no gradient at all: nothing ties the loss to the weights."""

from tb_health_plugin.diagnosis import own_code
from tb_health_plugin.diagnosis.ending import Ending
from tb_health_plugin.diagnosis.exceptions.failure import failure
from tb_health_plugin.diagnosis.exceptions.raised import Raised
from tb_health_plugin.diagnosis.verdict import Fix

_NONE_AT_ALL = r"No gradients provided for any variable"

_WITHOUT_A_DERIVATIVE = (
    "argmax",
    r"round\(",
    r"cast\(",
    r"\.numpy\(",
    "(py|numpy)_function",
    "stop_gradient",
)


def missing(raised: Raised) -> Ending | None:
    """No variable has a gradient; None if this is something else."""
    if raised.find(_NONE_AT_ALL) is None:
        return None
    is_loop = raised.training is not None and raised.training.loop == "loop"
    return failure(
        raised,
        id="no_gradient",
        detail="all",
        headline=f"The loss gives no variable a gradient; stopped {raised.where}",
        because="The optimizer was given no gradient at all, and said so.",
        fixes=(
            Fix(
                title="Find what cuts the way from the loss to the weights",
                why="argmax, round, a cast to whole numbers, comparisons, .numpy() and "
                "py_function have no derivative: what comes before them cannot learn.",
                code=own_code.searched(*_WITHOUT_A_DERIVATIVE),
            ),
            *([_TAPE] if is_loop else []),
        ),
        chip="No gradients",
    )


_TAPE = Fix(
    title="Compute the model and the loss inside the GradientTape",
    why="What ran outside of it has no gradient.",
    code="with tf.GradientTape() as tape:\n"
    "    loss = loss_fn(y, model(x, training=True))",
)
