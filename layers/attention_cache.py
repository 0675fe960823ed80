"""The key/value cache of step-by-step decoding, with static shapes."""

import keras


def empty_cache(batch_size: int, max_length: int, num_heads: int, key_dim: int, value_dim: int, dtype: str) -> dict:
    """Return a cache for `max_length` steps in which nothing is written.

    A cache is a dict: `key` (B, H, max_length, d_k), `value` (B, H, max_length, d_v), and `position` (B,), the number of
    steps written in each row, which is where the next one goes.
    """
    return {
        "key": keras.ops.zeros((batch_size, num_heads, max_length, key_dim), dtype),
        "value": keras.ops.zeros((batch_size, num_heads, max_length, value_dim), dtype),
        "position": keras.ops.zeros((batch_size,), "int32"),
    }


def _write(slots, steps, position):
    """Return `slots` (B, H, S, D) with `steps` (B, H, T, D) written from slot `position` (B,) on."""
    length = keras.ops.shape(steps)[2]
    source = keras.ops.arange(keras.ops.shape(slots)[2]) - keras.ops.expand_dims(position, 1)  # (B, S), the step for a slot
    inside = keras.ops.logical_and(source >= 0, source < length)[:, None, :, None]
    if steps.shape[2] != 1:  # one step is broadcast over all slots instead, which needs no gather
        steps = keras.ops.take_along_axis(steps, keras.ops.clip(source, 0, length - 1)[:, None, :, None], axis=2)
    return keras.ops.where(inside, steps, slots)


def extend_cache(cache: dict, key, value, mask=None) -> tuple:
    """Write new steps into a cache.

    Args:
        cache: what `empty_cache` or an earlier call returned.
        key: (B, H, T, d_k), keys of the new steps.
        value: (B, H, T, d_v), their values.
        mask: boolean (B, T), True first, then False for the padding of rows with fewer new steps. Padding is not
            counted: the next step overwrites it.

    Returns:
        the new cache; the mask (B, 1, T, max_length) of slots that each new step may see (itself and those before it); and
        a mask (B,) of the rows that had no room left, whose steps are not all written.
    """
    position, length = cache["position"], keras.ops.shape(key)[2]
    written = {name: _write(cache[name], steps, position) for name, steps in (("key", key), ("value", value))}
    count = length if mask is None else keras.ops.sum(keras.ops.cast(mask, "int32"), axis=1)
    slots = keras.ops.arange(keras.ops.shape(cache["key"])[2])
    steps = keras.ops.expand_dims(position, 1) + keras.ops.arange(length)  # (B, T), the slot of each new step
    visible = slots <= keras.ops.expand_dims(steps, -1)  # (B, T, S)
    full = position + count > keras.ops.shape(cache["key"])[2]
    return {**written, "position": position + count}, keras.ops.expand_dims(visible, 1), full
