"""Queries of one step, (B, width), next to queries of many, (B, T, width)."""

import keras


def with_step_axis(query):
    """Return `query` as (B, T, width), where T is 1 for a query of one step."""
    return keras.ops.expand_dims(query, 1) if len(query.shape) == 2 else query


def context_of(query, weights, values):
    """Return the context and the weights, for weights (B, T, S), without the step axis where `query` has none.

    c_i = sum over j of a_ij h_j
    """
    context = keras.ops.matmul(weights, values)  # (B, T, values width)
    if len(query.shape) == 2:
        return keras.ops.squeeze(context, 1), keras.ops.squeeze(weights, 1)
    return context, weights


def context_shapes(query_shape, values_shape):
    """Return the shapes of the context and the weights."""
    return (*query_shape[:-1], values_shape[-1]), (*query_shape[:-1], values_shape[1])


def check_query_and_values(layer: str, query_shape, values_shape, ranks=(2, 3)) -> None:
    """Raise unless the query has one of `ranks` axes and the values have three, both with a known width."""
    if len(query_shape) not in ranks or query_shape[-1] is None:
        allowed = " or ".join({2: "(batch, width)", 3: "(batch, steps, width)"}[rank] for rank in ranks)
        raise ValueError(f"{layer} expects a query of shape {allowed} with a known width, got {tuple(query_shape)}.")
    if len(values_shape) != 3 or values_shape[-1] is None:
        raise ValueError(f"{layer} expects values of shape (batch, steps, width) with a known width, got {tuple(values_shape)}.")


def values_mask_of(values_mask):
    """Return a mask (B, S) as (B, 1, S), or None."""
    return None if values_mask is None else keras.ops.expand_dims(keras.ops.cast(values_mask, "bool"), 1)
