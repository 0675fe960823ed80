"""What a stateful recurrent layer remembers from one batch to the next."""

import keras


class RecurrentMemory:
    """State variables for one batch size at a time.

    They are not weights: they are neither saved nor listed with the layer's variables, and after `reset` they may take another batch
    size, which weights of a built layer could not.
    """

    def __init__(self, owner, sizes, dtype):
        self.owner = owner
        self.sizes = sizes
        self.dtype = dtype
        self.batch = None
        self.by_batch = {}

    def states(self, batch):
        """Return the variables (batch, size), or raise when other ones are in use."""
        if batch is None:
            raise ValueError(f"{self.owner} is stateful and needs a fixed batch size, got an input whose batch size is None.")
        if self.batch not in (None, batch):
            raise ValueError(
                f"{self.owner} is stateful and remembers a batch of {self.batch}, got a batch of {batch}; call reset_state() in between."
            )
        self.batch = batch
        if batch not in self.by_batch:
            self.by_batch[batch] = [
                keras.Variable("zeros", shape=(batch, size), dtype=self.dtype, trainable=False, name=f"{self.owner}_state_{index}")
                for index, size in enumerate(self.sizes)
            ]
        return self.by_batch[batch]

    def reset(self):
        """Forget everything: zero states, any batch size."""
        self.batch = None
        for variables in self.by_batch.values():
            for variable in variables:
                variable.assign(keras.ops.zeros_like(variable))
