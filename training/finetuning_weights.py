"""Where a fine-tuning starts: weights from the hub, a tag, a run or a file, found, hash-checked and loaded under a new head."""

import hashlib
import importlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from ..zoo import info
from ..zoo.errors import CanonError
from ..zoo.fetch import fetch
from ..zoo.heads import replace_head
from ..zoo.load_report import LoadReport
from ..zoo.loading import load_weights
from ..zoo.model import Model, load_model, model_file
from ..zoo.records import ModelRecord, WeightsRecord
from ..zoo.sources import PICKLES
from .transfer_section import TransferSection

_HUB = "hf:"
_HUB_FILE = "model.safetensors"


@dataclass(frozen=True)
class StartingPoint:
    """Weights that were found.

    Args:
        path: of the file.
        published: their record, for published ones.
    """

    path: Path
    published: WeightsRecord | None = None

    @property
    def sha256(self) -> str:
        """Hash of the file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def find_weights(weights: str, name: str) -> StartingPoint:
    """Return the file of weights; it is fetched where it must be.

    Args:
        weights: as in `[transfer]`.
        name: the model's, whose published weights a tag is looked up in.

    Raises:
        CanonError: for a tag that is not published, a folder without a finished run, a file that is missing or a pickle, or what
            cannot be fetched.
    """
    for published in info(name).weights:
        if published.tag == weights:
            return StartingPoint(fetch(published, name), published)
    if weights.startswith(_HUB):
        return StartingPoint(_from_hub(weights))
    path = Path(weights)
    if path.is_dir():
        return StartingPoint(model_file(path))
    if path.suffix in PICKLES:
        raise _pickle(weights)
    if not path.is_file():
        tags = ", ".join(repr(published.tag) for published in info(name).weights)
        published = f"published for {name!r}: {tags}" if tags else f"none are published for {name!r}"
        raise CanonError(f"There are no weights {weights!r}: give a run's folder, a weight file or hf:OWNER/NAME ({published}).")
    return StartingPoint(path)


def hashed_weights(section: TransferSection, name: str) -> StartingPoint:
    """Return the file of the weights of a recipe, which is the one that the recipe was written for.

    Args:
        section: `[transfer]`, with weights.
        name: the model's.

    Raises:
        CanonError: as `find_weights`, and for a file that has changed.
    """
    assert section.weights is not None
    found = find_weights(section.weights, name)
    if section.sha256 is not None and found.sha256 != section.sha256:
        raise CanonError(
            f"{section.weights!r} has changed since the recipe was written: its sha256 is {found.sha256}, transfer.sha256 is "
            f"{section.sha256}; leave transfer.sha256 out to take it as it is."
        )
    return found


def default_weights(name: str) -> str:
    """Return the tag of the published weights of a model.

    Raises:
        CanonError: when there are none; it says what to do.
    """
    if not info(name).weights:
        raise CanonError(
            f"No weights are published for {name!r}, so there is nothing to fine-tune: give the folder of a run or a weight file with "
            "--weights, or train from random weights with --from-scratch."
        )
    return info(name).weights[0].tag


def start_from_weights(model: Model, section: TransferSection) -> tuple[Model, LoadReport | None]:
    """Load the weights of a recipe into a compiled model, all but the head, which stays new.

    Args:
        model: as the recipe builds it.
        section: `[transfer]` with nothing left out.

    Returns:
        the model, or one with a dropout before its head, and what was loaded; None without weights.

    Raises:
        CanonError: for weights that are not there, are not those of the recipe any more, or do not fit; nothing has been changed.
    """
    report = None
    if section.weights is not None:
        found = hashed_weights(section, model.record.variant)
        report = load_weights(model, found.path, format=found.published.format if found.published else "auto", skip_head=True)
        theirs = found.published.preprocessing if found.published else None
        model.update_record(weights=section.weights, preprocessing=theirs.fitted(model.record.input_shape) if theirs else None)
    if section.dropout:
        model = _with_dropout(model, section.dropout)
    return model, report


def record_of(point: StartingPoint, name: str) -> ModelRecord | None:
    """Return the record of the network that weights are of: a .keras file of ours carries it, and published weights have one.

    Args:
        point: the weights.
        name: the variant that published weights are of.

    Returns:
        None where the weights do not say.
    """
    published = point.published
    if published is not None:
        shape = published.input_shape or info(name).input_shape
        return ModelRecord(name, dict(published.overrides), shape) if published.input_shape or published.overrides else None
    return getattr(load_model(point.path), "_record", None) if point.path.suffix == ".keras" else None


def _with_dropout(model: Model, rate: float) -> Model:
    optimizer, loss, labels = model.optimizer, model.loss, model.record.labels
    changed = replace_head(model, model.record.num_classes, dropout=rate)
    changed.update_record(labels=labels)
    changed.compile(optimizer=type(optimizer).from_config(optimizer.get_config()), loss=loss, metrics=["accuracy"], auto_scale_loss=False)
    return changed


def _from_hub(weights: str) -> Path:
    owner, _, rest = weights.removeprefix(_HUB).removeprefix("//").partition("/")
    name, _, file = rest.partition("/")
    file = file or _HUB_FILE
    if not owner or not name:
        raise CanonError(f"{weights!r} must be hf:OWNER/NAME or hf:OWNER/NAME/FILE.")
    if Path(file).suffix in PICKLES:
        raise _pickle(weights)
    if importlib.util.find_spec("huggingface_hub") is None:
        raise CanonError(f"{weights!r} is on the Hugging Face hub, which needs another package: pip install 'keras-canon[hub]'.")
    client = importlib.import_module("huggingface_hub")
    try:
        return Path(client.hf_hub_download(repo_id=f"{owner}/{name}", filename=file))
    except (OSError, ValueError) as error:  # the hub's errors are of both kinds
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CanonError(f"{weights!r} could not be fetched from the Hugging Face hub: {reason}") from error


def _pickle(weights: str) -> CanonError:
    return CanonError(f"{weights!r} is a pickle, which can run code when opened: convert it to .safetensors and give that.")
