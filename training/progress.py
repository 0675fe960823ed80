"""What a run shows while it trains: a line for each epoch, and a bar on a terminal."""

import time

import keras
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_BETWEEN_UPDATES = 0.1


class EpochLines(keras.callbacks.Callback):
    """Print one line for each epoch; on a terminal a bar moves below the lines.

    Args:
        console: where to print; None for standard output.
    """

    reads_batch_logs = False

    def __init__(self, console: Console | None = None):
        super().__init__()
        self.console = console or Console()
        self._bar: Progress | None = None
        self._done = 0
        self._shown = 0.0

    def on_train_begin(self, logs=None):
        """Start the bar, where there is a terminal to move it on."""
        if not self.console.is_terminal:
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=self.console, transient=True)
        self._task = bar.add_task("", total=self.params.get("steps"))
        bar.start()
        self._bar = bar

    def on_epoch_begin(self, epoch, logs=None):
        """Set the bar to its left end."""
        self._done = 0
        if self._bar is not None:
            self._bar.reset(self._task, total=self.params.get("steps"), description=self._epoch(epoch))

    def on_train_batch_end(self, batch, logs=None):
        """Move the bar, ten times a second at most."""
        self._done += 1
        if self._bar is not None and time.monotonic() - self._shown > _BETWEEN_UPDATES:
            self._shown = time.monotonic()
            self._bar.update(self._task, completed=self._done)

    def on_epoch_end(self, epoch, logs=None):
        """Print the line of the epoch."""
        logs = dict(logs or {})
        seconds, rate = logs.pop("seconds", None), logs.pop("learning_rate", None)
        figures = [f"{name} {value:.4f}" for name, value in logs.items()]
        figures += [f"rate {rate:.3g}"] if rate is not None else []
        figures += [f"{seconds:.1f} s"] if seconds is not None else []
        self.console.print("  ".join([self._epoch(epoch), *figures]), markup=False, highlight=False, soft_wrap=True)

    def on_train_end(self, logs=None):
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _epoch(self, epoch: int) -> str:
        epochs = self.params.get("epochs") or epoch + 1
        return f"epoch {epoch + 1:{len(str(epochs))}d}/{epochs}"
