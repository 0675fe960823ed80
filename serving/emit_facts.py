"""What the generated files have in common."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Facts:
    """What is to be served.

    Args:
        models: names of the models, sorted.
        directory: the folder of models, absolute.
        tensorflow: version of TensorFlow that wrote the bundles; TF Serving of the same version reads them.
        max_batch: most rows that requests are combined into.
        max_wait_ms: how long a batch waits for more.
        open_axes: whether some input has an axis of any length beyond the batch: TF Serving's own batching refuses to combine
            requests that differ in one.
    """

    models: tuple[str, ...]
    directory: Path
    tensorflow: str
    max_batch: int = 32
    max_wait_ms: float = 2.0
    open_axes: bool = False

    @property
    def image(self) -> str:
        """TF Serving's container image."""
        return f"tensorflow/serving:{self.tensorflow}"


def resource_name(model: str) -> str:
    """Return a model's name as Kubernetes takes it: lower case letters, digits and "-", at most 63."""
    name = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")[:50]
    # a name must begin with a letter
    return name if name[:1].isalpha() else f"model-{name}".rstrip("-")


def indented(text: str, by: int) -> str:
    """Return text as the body of a YAML block that is indented by so many spaces."""
    return "".join(" " * by + line if line.strip() else line for line in text.splitlines(keepends=True))
