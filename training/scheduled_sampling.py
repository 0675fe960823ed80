"""Scheduled sampling: a translator in training reads some of its own words in the place of the right ones."""

import keras
import tensorflow as tf

from ..zoo.errors import CanonError
from ..zoo.model import Model
from .forward import Forward

_TARGET = "target_ids"
_LOWEST = -1e30


class ScheduledSampling(Forward):
    r"""Put words that the model draws into the target before it is read; how many rises with the updates.

    $$\tilde y_t = \begin{cases} y_t & \text{with probability } 1 - \varepsilon_i \\
    \hat y_t \sim p(\cdot \mid x, \tilde y_{<t}) & \text{with probability } \varepsilon_i \end{cases},
    \quad \varepsilon_i = \varepsilon \min(1, i / n) \tag{1}$$

    Labels stay the right ones, and no gradient goes through a draw. Places are drawn anew for each update, the same in each pass.

    All words of a target are drawn at once, from a pass over what was read before, and not one after the other: so a first pass draws
    after right words alone. Each further pass draws after words of the pass before; as many passes as the target has words draw as
    the sequential form does. A start token and padding are never replaced, and padding is never drawn.

    Args:
        model: compiled, from `source_ids` and `target_ids` to logits.
        share: epsilon, the largest probability, above 0 and at most 1.
        updates: n, updates over which it rises from 0.
        seed: of the places and draws; with the number of the update it decides them, in a run that was stopped as well.
        passes: over the target before the one that is learned from.

    Raises:
        CanonError: for a model that translates nothing, or an argument out of range.

    Reference:
        Bengio, Vinyals, Jaitly, Shazeer, 2015, "Scheduled sampling for sequence prediction with recurrent neural networks", section 2.4,
        arXiv:1506.03099; in parallel: Duckworth, Neelakantan, Goodrich, Kaiser, Bengio, 2019, "Parallel scheduled sampling", section 3,
        arXiv:1906.04331.
    """

    def __init__(self, model: Model, share: float, updates: int, seed: int = 0, passes: int = 1):
        super().__init__(model)
        if _TARGET not in {tensor.name for tensor in model.inputs}:
            raise CanonError(f"{model.name!r} reads no target whose words could be its own: leave out train.scheduled_sampling.")
        if not 0.0 < share <= 1.0 or updates < 1 or passes < 1:
            raise CanonError(f"share must be above 0 and at most 1, updates and passes at least 1, got {share}, {updates}, {passes}.")
        self.share, self.updates, self.seed, self.passes = share, updates, seed, passes

    def train(self, inputs):
        """Return the logits (B, T, V) of a batch whose targets are in part the model's own words."""
        return self.model({**inputs, _TARGET: self.mixed(inputs)}, training=True)

    def mixed(self, inputs):
        """Return the target (B, T) that is read.

        Args:
            inputs: `source_ids` (B, S) and `target_ids` (B, T), whose first column is the start token.
        """
        right = read = inputs[_TARGET]
        update = tf.cast(self.model.optimizer.iterations, "int32")
        share = self.share * tf.minimum(1.0, tf.cast(update, "float32") / self.updates)
        places = tf.random.stateless_uniform(tf.shape(right), self._seed(2 * update)) < share
        places &= (right != 0) & (tf.range(tf.shape(right)[1]) > 0)
        for _ in range(self.passes):
            logits = tf.cast(self.model({**inputs, _TARGET: read}, training=True), "float32")
            drawn = self._draw(tf.stop_gradient(logits), update)
            # what is drawn at a step is read at the next
            read = tf.where(places, tf.concat([right[:, :1], drawn[:, :-1]], axis=1), right)
        return read

    def _seed(self, number):
        return tf.stack([tf.constant(self.seed, "int64"), tf.cast(number, "int64")])

    def _draw(self, logits, update):
        """Return an id for each step (B, T), never padding; the same noise in each pass, so that later ones settle."""
        is_padding = keras.ops.arange(logits.shape[-1]) == 0
        noise = tf.random.stateless_uniform(tf.shape(logits), self._seed(2 * update + 1), minval=1e-20)
        gumbel = -tf.math.log(-tf.math.log(noise))
        return tf.argmax(tf.where(is_padding, _LOWEST, logits + gumbel), axis=-1, output_type="int32")
