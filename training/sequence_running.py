"""A run on sequences: bucketed batches, masked losses and figures."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from rich.console import Console

from ..zoo.errors import CanonError
from ..zoo.load_report import LoadReport
from ..zoo.model import Model
from .building import updates_per_epoch
from .carried_state import CarriedState, streams
from .distribution import strategy_of
from .doctor import Finding, check_gradients
from .finetuning_report import add_chapter
from .forward import Forward
from .freezing import unfreeze
from .gradient_norms import probe
from .pipeline import epoch_order
from .report import Outcome
from .running import Running
from .scheduled_sampling import ScheduledSampling
from .sequence_evaluation import evaluate_sequences
from .sequence_lengths import step_limit
from .sequence_losses import sequence_accuracy
from .sequence_pipeline import bucketed, sequence_reader
from .sequence_transfer import own_tokenizer, start_blocks
from .steps import PerExample
from .writing import write_text

_PROBE = 32


@dataclass
class SequenceRunning(Running):
    """A run on a `SequenceDataset` whose folder is its own.

    Args:
        loaded: what was loaded before the start; None for random weights.
    """

    data: Any
    loaded: LoadReport | None = None

    def readers(self) -> tuple[Callable[..., tf.data.Dataset], Callable[..., tf.data.Dataset]]:
        """Return what gives the batches of the training and of the validation split; validation is sorted by length."""
        batch_size, held_out = self.recipe.train.batch_size, self.data.validation
        by_length = streams(len(held_out), batch_size) if self.data.carries else np.argsort(held_out.lengths, kind="stable")
        limit = step_limit(self.model)
        validate = sequence_reader(held_out, batch_size, limit=limit)
        read = sequence_reader(self.data.train, batch_size, seed=self.recipe.train.seed, limit=limit)
        return read, lambda order, epoch=0: validate(by_length if order is None else order)

    def order(self, epoch: int) -> np.ndarray:
        """Return the order of an epoch's examples: those of nearly one length together, or each where the batch before has ended."""
        section, train = self.recipe.train, self.data.train
        if self.data.carries:
            return streams(len(train), section.batch_size)
        return bucketed(epoch_order(len(train), section.seed, epoch), train.lengths, section.batch_size, section.seed, epoch)

    def forward(self) -> Forward | None:
        """Return what carries a state from batch to batch, or samples words of targets, where that is asked for."""
        section, train = self.recipe.train, self.data.train
        if section.scheduled_sampling:
            updates = section.epochs * updates_per_epoch(section, len(train))
            return ScheduledSampling(self.model, section.scheduled_sampling, updates, section.seed)
        if not self.data.carries:
            return None
        if section.micro_batches > 1 or strategy_of(self.model).num_replicas_in_sync > 1:
            raise CanonError("A state is carried on one device, in whole batches: leave out state=carried, or set train.micro_batches = 1.")
        return CarriedState(self.model, section.batch_size)

    def metrics(self) -> Mapping[str, PerExample]:
        """Return the figures of an epoch beside the loss: what counts as right of a kind of labels."""
        return {"accuracy": sequence_accuracy(self.data.kind)}

    def probe(self) -> tuple[Any, Any]:
        """Return a batch of inputs and labels from all over the training split."""
        order = np.linspace(0, len(self.data.train) - 1, min(_PROBE, len(self.data.train))).astype("int64")
        return next(iter(sequence_reader(self.data.train, len(order), limit=step_limit(self.model))(order)))

    def answers(self, model: Model) -> Any:
        """Return what the model says about the test split."""
        return evaluate_sequences(model, self.data, "test", batch_size=max(self.recipe.train.batch_size, 64))

    def report(self, outcome: Outcome) -> None:
        """Write the report, and what each id of a vocabulary stands for; for characters and pieces of words also their tokenizer."""
        super().report(outcome)
        if self.loaded is not None and self.recipe.transfer.weights is not None:
            add_chapter(self.folder, start_blocks(self.recipe.transfer.weights, self.loaded))
        words = own_tokenizer(self.data)
        if words is not None:
            words.save(self.folder)
        if self.data.kind in ("tokens", "transcripts"):
            names = {"target": self.data.class_names, "source": self.data.source_names or self.data.class_names}
            write_text(self.folder / "vocabulary.json", json.dumps(names, ensure_ascii=False, indent=1) + "\n")

    def findings(self) -> list[Finding]:
        """Return what looks wrong before training: weights that no gradient reaches, or one that is no number."""
        _, gradients = probe(self.model, *self.probe())
        return [check_gradients(self.model, gradients)]

    def _first_look(self) -> None:
        super()._first_look()
        if self.verbose and self.loaded is not None:
            Console().print(f"{self.recipe.transfer.weights}: {self.loaded}", markup=False, highlight=False, soft_wrap=True)

    def _final_model(self) -> Model:
        copy = super()._final_model()
        unfreeze(copy, keep_batch_norm_frozen=False)  # heads that took no part
        if self.recipe.transfer.weights is not None:
            copy.update_record(weights=f"{self.recipe.transfer.weights}, fine-tuned by {copy.record.weights}")
        return copy
