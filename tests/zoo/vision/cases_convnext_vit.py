"""The cases of the model sweep for ConvNeXt and the Vision Transformer: every row at a few narrow blocks."""

from checks.models import ModelCase

# layer scale starts at 1, not 1e-6, so that the blocks take part from the first step
CONVNEXT = {"depths": [1, 1, 1, 1], "widths": [8, 8, 12, 16], "stochastic_depth": 0.0, "layer_scale": 1.0}
VIT = {"patch_size": 8, "depth": 2, "model_dim": 16, "feedforward_dim": 32, "num_heads": 2}

CASES = [
    *(ModelCase(f"convnext_{size}", (32, 32, 3), CONVNEXT) for size in ("tiny", "small", "base", "large")),
    *(ModelCase(f"vit_{size}", (24, 24, 3), VIT) for size in ("tiny_16", "small_16", "base_16", "base_32", "large_16")),
]
