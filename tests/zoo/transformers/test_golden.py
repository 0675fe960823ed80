"""The Transformers against independent implementations: weights under their names, outputs within 1e-4 of the largest value."""

import json
from pathlib import Path

import numpy as np
from checks.golden import RULE

from keras_canon import zoo

FOLDER = Path(__file__).parents[2] / "golden" / "sequence"
GPT2 = {"vocabulary_size": 97, "max_length": 16, "depth": 2, "model_dim": 32, "num_heads": 4}
BERT = {**GPT2, "feedforward_dim": 64}
TORCH = {"depth": [2, 2], "model_dim": 16, "feedforward_dim": 32, "num_heads": 4, "dropout": 0.0}

# what torch 2.13.0 gives in the second row of a pre-norm network with exact GELU, its weights drawn by the rule of the golden files
PRE_NORM_GELU = [
    [-0.698496, -0.2152, -0.360826, -0.821725, -0.638894, 1.567223, 0.062981, 1.219059],
    [1.147742, -1.260422, -0.36244, -0.478208, -0.426705, 0.471038, -0.684991, 1.699156],
    [1.062987, -0.363232, -0.451085, -1.498163, 0.789957, 0.594294, -0.999634, 1.050149],
]


def load(name: str) -> tuple[dict, dict]:
    golden = json.loads((FOLDER / f"{name}.json").read_text())
    golden["outputs"] = {key: np.asarray(value["values"]) for key, value in golden["outputs"].items()}
    return golden, RULE["state"](golden)


def load_all(model, state, format):
    """Load strictly: every array goes somewhere, no weight of the model is left."""
    report = zoo.load_weights(model, state, format=format)
    assert sorted({source for source, *_ in report.loaded}) == sorted(state)
    assert not report.adapted
    assert not report.unused
    assert not report.missing


def assert_close(found, expected):
    error = np.abs(np.asarray(found) - expected).max() / np.abs(expected).max()
    assert error < 1e-4, f"{error:.1e} of the largest value"


def test_gpt2():
    golden, state = load("hf_gpt2")
    model = zoo.create("gpt2", overrides=GPT2)
    assert model.count_params() == golden["trainable_parameters"]
    load_all(model, state, "huggingface")
    tokens = np.asarray(golden["inputs"]["token_ids"], "int32")
    assert_close(model(tokens), golden["outputs"]["logits"])
    continuation = golden["outputs"]["greedy_continuation_of_first_4_tokens"].astype(int)
    found = zoo.generate(model, tokens[:, :4], zoo.Generation(max_new_tokens=8))
    assert found == continuation[:, 4:].tolist()


def test_bert():
    golden, state = load("hf_bert")
    model = zoo.create("bert_base", overrides=BERT)
    assert model.count_params() == golden["trainable_parameters"]
    load_all(model, state, "huggingface")
    given = {name: np.asarray(value, "int32") for name, value in golden["inputs"].items()}
    real = given["attention_mask"] == 1
    outputs = model({"token_ids": np.where(real, given["token_ids"], 0), "segment_ids": given["segment_ids"]})
    assert_close(np.asarray(outputs["sequence"])[real], golden["outputs"]["last_hidden_state"][real])
    assert_close(outputs["pooled"], golden["outputs"]["pooled"])


def test_transformer_post_norm():
    golden, state = load("transformer_post_norm")
    model = zoo.create("transformer_base_torch", overrides=TORCH)
    assert model.count_params() == golden["trainable_parameters"]
    load_all(model, state, "torch")
    given = {name: np.asarray(value) for name, value in golden["inputs"].items()}
    source = np.where(given["source_is_padding"][..., None], 0.0, given["source"]).astype("float32")
    assert_close(model({"source": source, "target": given["target"].astype("float32")}), golden["outputs"]["output"])


def torch_shapes(depth: tuple[int, int], width: int, inner: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a torch.nn.Transformer."""

    def pair(name, *shape):
        return {f"{name}weight": shape, f"{name}bias": shape[:1]}

    shapes: dict[str, tuple[int, ...]] = {}
    for side, count in zip(("encoder", "decoder"), depth, strict=True):
        attentions = ("self_attn", "multihead_attn")[: 1 + (side == "decoder")]
        for layer in range(count):
            prefix = f"{side}.layers.{layer}"
            for attention in attentions:
                shapes |= pair(f"{prefix}.{attention}.in_proj_", 3 * width, width) | pair(f"{prefix}.{attention}.out_proj.", width, width)
            shapes |= pair(f"{prefix}.linear1.", inner, width) | pair(f"{prefix}.linear2.", width, inner)
            for number in range(len(attentions) + 1):
                shapes |= pair(f"{prefix}.norm{number + 1}.", width)
        shapes |= pair(f"{side}.norm.", width)
    return shapes


def test_transformer_pre_norm_with_gelu():
    overrides = {"depth": [1, 2], "model_dim": 8, "feedforward_dim": 12, "num_heads": 2, "norm": "pre", "activation": "gelu"}
    model = zoo.create("transformer_tiny_torch", overrides=overrides)
    state = {name: RULE["weight"](name, shape, 1.0) for name, shape in torch_shapes((1, 2), 8, 12).items()}
    load_all(model, state, "torch")
    random = np.random.RandomState(3)
    source, target = (random.standard_normal((2, steps, 8)).astype("float32") for steps in (4, 3))
    source[1, 2:] = 0.0
    assert_close(np.asarray(model({"source": source, "target": target}))[1], np.asarray(PRE_NORM_GELU))
