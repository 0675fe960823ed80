"""The whole state of a run: model, optimizer, loop, callbacks and random generators."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from .state import Arrays, CallbackState, restore_random, restore_variables, save_random, save_variables
from .writing import write_text


class RunState:
    """Everything that decides how a run goes on.

    Args:
        model: compiled, its optimizer built.
        variables: further variables that change while training, such as sums of figures and averages of weights.
        callbacks: after their `on_train_begin`.
    """

    def __init__(self, model: keras.Model, variables: Sequence[Any], callbacks: Sequence[keras.callbacks.Callback]):
        self._variables = {"model": model.variables, "optimizer": model.optimizer.variables, "loop": list(variables)}
        self._callbacks = CallbackState(callbacks)

    def save(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the state as arrays and as values that JSON can hold."""
        arrays: Arrays = {}
        values: dict[str, Any] = {name: save_variables(items, name, arrays) for name, items in self._variables.items()}
        values["callbacks"] = self._callbacks.save(arrays)
        values["random"] = save_random(arrays)
        return arrays, values

    def restore(self, arrays: Arrays, values: dict[str, Any]) -> None:
        """Take a state on."""
        for name, items in self._variables.items():
            restore_variables(items, name, values[name], arrays)
        self._callbacks.restore(values["callbacks"], arrays)
        restore_random(values["random"], arrays)


def continue_logs(callbacks: Sequence[keras.callbacks.Callback], epoch: int) -> None:
    """Let Keras's own CSV files of a resumed run go on where `epoch` begins, instead of starting anew.

    Call it before `on_train_begin`, which would empty them.
    """
    for callback in callbacks:
        path = Path(callback.filename) if isinstance(callback, keras.callbacks.CSVLogger) else None
        if path is None or not path.is_file():
            continue
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        column = next(csv.reader(lines[:1], delimiter=callback.sep), []).index("epoch") if lines else 0
        kept = [line for line in lines[1:] if int(line.split(callback.sep)[column]) < epoch]
        write_text(path, "".join([*lines[:1], *kept]))
        callback.append = True
