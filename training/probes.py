"""How much features know: a linear probe and k-nearest neighbours, with scikit-learn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from .features import Features

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
NEIGHBOURS = (1, 3, 5, 10, 20)
_STEPS = 2000


@dataclass(frozen=True, eq=False)
class Probe:
    """A classifier on frozen features.

    Args:
        name: "linear probe" or "nearest neighbours".
        setting: the strength or number of neighbours that was best on the validation split.
        validation_accuracy: with it.
        test_accuracy: with it.
        predicted: class numbers of the test split, (N,).
        classifier: a fitted scikit-learn pipeline.
    """

    name: str
    setting: float
    validation_accuracy: float
    test_accuracy: float
    predicted: np.ndarray
    classifier: object


def linear_probe(features: Features, strengths: Sequence[float] = STRENGTHS) -> Probe:
    """Fit multinomial logistic regression on standardised features of the training split.

    Args:
        features: of all splits.
        strengths: inverse strengths C of the L2 penalty to try; the validation split chooses, the weakest of equals that need less.

    Example:
        >>> from keras_canon import training, zoo
        >>> features = training.extract_features(zoo.create("lenet5_modern"), "digits")
        >>> training.linear_probe(features, [1.0]).test_accuracy > 0.8
        True
    """
    tried = [(value, make_pipeline(StandardScaler(), LogisticRegression(C=value, max_iter=_STEPS))) for value in sorted(strengths)]
    return _best("linear probe", tried, features)


def nearest_neighbours(features: Features, neighbours: Sequence[int] = NEIGHBOURS) -> Probe:
    """Classify by the votes of the nearest training examples, by the cosine between features, each vote weighed by nearness.

    Args:
        features: of all splits.
        neighbours: numbers of neighbours to try, those above the number of training examples left out; the validation split chooses.
    """
    counts = [count for count in sorted(neighbours) if count <= len(features.labels["train"])]
    # between vectors of length 1 the distance orders as the cosine does
    tried = [(count, make_pipeline(Normalizer(), KNeighborsClassifier(count, weights="distance"))) for count in counts]
    return _best("nearest neighbours", tried, features)


def _best(name: str, tried, features: Features) -> Probe:
    """Fit all and keep the first of those that do best on the validation split."""
    scores = []
    for _, classifier in tried:
        classifier.fit(features.values["train"], features.labels["train"])
        scores.append(float(np.mean(classifier.predict(features.values["validation"]) == features.labels["validation"])))
    best = int(np.argmax(scores))
    setting, classifier = tried[best]
    predicted = classifier.predict(features.values["test"])
    return Probe(name, setting, scores[best], float(np.mean(predicted == features.labels["test"])), predicted, classifier)
