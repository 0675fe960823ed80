"""The residual connection around each part of a Transformer block.

post-norm: LayerNorm(x + Dropout(f(x)))        (Vaswani et al. 2017, section 3.1)
pre-norm:  x + Dropout(f(LayerNorm(x)))        (Xiong et al. 2020, table 1, arXiv:2002.04745)
"""

from .arguments import input_rank


def sublayer_input(block, inputs, normalization):
    """Return what f sees: the normalised input in a pre-norm block, else the input."""
    return normalization(inputs) if block.norm_first else inputs


def sublayer_output(block, inputs, outputs, normalization, training):
    """Return the input plus `outputs`, the value of f, after dropout, normalised in a post-norm block."""
    total = inputs + block.dropout_layer(outputs, training=training)
    return total if block.norm_first else normalization(total)


def check_block_input(layer: str, shape, model_dim: int) -> None:
    """Raise unless `shape` is (B, T, model_dim), which the residual connection needs."""
    input_rank(layer, shape, 3, "(batch, steps, model_dim)")
    if shape[-1] != model_dim:
        raise ValueError(f"{layer} expects input of width model_dim={model_dim}, got {shape[-1]}.")
