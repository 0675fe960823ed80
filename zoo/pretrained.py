"""Published weights for a model that was just created."""

from .fetch import fetch
from .labels import class_names
from .loading import load_weights
from .model import Model
from .records import WeightsRecord


def load_published(model: Model, published: WeightsRecord, skip_head: bool | None) -> None:
    """Fetch and load published weights, and tell the model's record what came with them.

    Args:
        model: as `zoo.create` built it.
        published: the record of the weights.
        skip_head: as for `zoo.load_weights`; the labels stay unknown when the head was not loaded.

    Raises:
        CanonError: when the file cannot be fetched or does not fit.
    """
    path = fetch(published, model.record.variant)
    report = load_weights(model, path, format=published.format, skip_head=skip_head)
    whole = published.labels and model.record.num_classes and not report.skipped
    labels = class_names(published.labels) if whole else None
    preprocessing = published.preprocessing.fitted(model.record.input_shape) if published.preprocessing else None
    model.update_record(labels=labels, weights=published.tag, preprocessing=preprocessing)
