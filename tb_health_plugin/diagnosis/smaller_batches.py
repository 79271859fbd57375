"""The advice to use smaller batches, with the number to set."""

from tb_health_plugin.diagnosis.verdict import Fix

_FOLLOWS = "What a step holds shrinks with it; the learning rate may have to follow."


def halved(batch_size: str | None) -> Fix:
    """Args: batch_size: The setting as it was recorded; None if it was not seen."""
    if batch_size and batch_size.isdecimal() and int(batch_size) > 1:
        rows = int(batch_size)
        return Fix(
            title="Halve the batch size",
            why=f"A batch has {rows:,} rows now. {_FOLLOWS}",
            code=f"batch_size={rows // 2}",
        )
    return Fix(title="Make batches smaller", why=_FOLLOWS)
