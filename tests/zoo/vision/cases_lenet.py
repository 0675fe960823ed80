"""The cases of the model sweep: each variant at a size that is cheap to run."""

from checks.models import ModelCase

CASES = [
    ModelCase("lenet5", rate=0.003),
    ModelCase("lenet5_modern"),
    ModelCase("resnet20", input_shape=(16, 16, 3), overrides={"blocks_per_stage": 1}),
]
