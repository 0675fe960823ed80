"""The Vision Transformer against the paper and torchvision, and its position table at other image sizes (B18)."""

import numpy as np
import pytest
from checks.golden import check_golden, load_golden

from keras_canon import layers, zoo

SMALL = {"depth": 2, "model_dim": 8, "feedforward_dim": 16, "num_heads": 2}
AVERAGE = {**SMALL, "pool": "average"}
# names of a block in transformers -> in torchvision, for arrays that both have
HUGGING_FACE = {
    "layernorm_before": "ln_1",
    "attention.output.dense": "self_attention.out_proj",
    "layernorm_after": "ln_2",
    "intermediate.dense": "mlp.0",
    "output.dense": "mlp.3",
}


def table(model) -> np.ndarray:
    return np.asarray(model.get_layer("positions").embeddings)


def small(side: int, overrides=SMALL, **arguments) -> zoo.Model:
    return zoo.create("vit_base_16", num_classes=3, input_shape=(side, side, 3), overrides=overrides, **arguments)


@pytest.mark.parametrize(
    ("name", "parameters"),
    # Touvron et al. 2021, table 1: 5 and 22 million; Dosovitskiy et al. 2021, table 1: 86 million
    [("vit_tiny_16", 5), ("vit_small_16", 22), ("vit_base_16", 86)],
)
def test_printed_sizes(name, parameters):
    assert int(zoo.info(name).trainable_parameters / 1e6) == parameters


def test_large_is_below_the_printed_307_million():
    assert zoo.info("vit_large_16").trainable_parameters == 304_326_632


def test_structure():
    model = zoo.create("vit_tiny_16", overrides={"depth": 3, "dropout": 0.1})
    blocks = [layer for layer in model.layers if isinstance(layer, layers.TransformerEncoderBlock)]
    assert [layer.name for layer in blocks] == ["encoder_block1", "encoder_block2", "encoder_block3"]
    assert all(layer.norm_first and layer.epsilon == 1e-6 for layer in blocks)
    assert {(layer.dropout, layer.feedforward_dropout, layer.attention_dropout) for layer in blocks} == {(0.1, 0.1, 0.0)}
    assert {layer.activation.__name__ for layer in blocks} == {"gelu"}
    assert table(model).shape == (197, 192)
    assert model.get_layer("pool").input.shape == (None, 197, 192)


def test_positions_may_start_from_sines_and_cosines():
    model = zoo.create("vit_base_16", num_classes=3, input_shape=(32, 48, 3), overrides={**SMALL, "positions": "sinusoidal"})
    np.testing.assert_array_equal(table(model), layers.SinusoidalGrid(2, 3)((7, 8)))
    assert model.get_layer("positions").trainable_weights
    with pytest.raises(
        zoo.CanonError, match="positions in the overrides of 'vit_base_16' must be one of 'normal', 'sinusoidal', got 'fixed'"
    ):
        small(32, {**SMALL, "positions": "fixed"})
    with pytest.raises(zoo.CanonError, match="model_dim must be a multiple of 4 above 4 for positions of sines and cosines, got 6"):
        small(32, {**SMALL, "model_dim": 6, "positions": "sinusoidal"})


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((225, 224, 3), r"multiples of the patch size, 16, got \(225, 224, 3\)"),
        ((None, None, 3), r"multiples of the patch size, 16, got \(None, None, 3\)"),
        ((8, 8, 3), r"multiples of the patch size, 16, got \(8, 8, 3\)"),
        ((32, 32), r"\(height, width, channels\)"),
    ],
)
def test_patches_must_fill_the_image(shape, message):
    with pytest.raises(zoo.CanonError, match=message):
        zoo.create("vit_base_16", input_shape=shape, overrides=SMALL)


def test_golden():
    check_golden("vit_base_16", "vit_b_16")


def torch_state(width: int = 8, depth: int = 2, length: int = 5) -> dict[str, np.ndarray]:
    """Random arrays under torchvision's names, out of the golden file's list, at small sizes."""
    sizes = {768: width, 3072: 2 * width, 2304: 3 * width, 197: length, 1000: 3}
    random = np.random.RandomState(4)
    state = {}
    for name, shape in load_golden("vit_b_16")["state"]:
        layer = int(name.split("encoder_layer_")[1].split(".")[0]) if "encoder_layer_" in name else 0
        if layer < depth:
            state[name] = random.standard_normal([sizes.get(size, size) for size in shape]).astype("float32")
    return state


def hugging_face_state(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same arrays under the names of transformers."""
    renamed = {
        "vit.embeddings.cls_token": state["class_token"],
        "vit.embeddings.position_embeddings": state["encoder.pos_embedding"],
    }
    pairs = [("vit.embeddings.patch_embeddings.projection", "conv_proj"), ("vit.layernorm", "encoder.ln"), ("classifier", "heads.head")]
    for layer in range(2):
        prefix, ours = f"vit.encoder.layer.{layer}", f"encoder.layers.encoder_layer_{layer}"
        pairs += [(f"{prefix}.{theirs}", f"{ours}.{name}") for theirs, name in HUGGING_FACE.items()]
        for leaf in ("weight", "bias"):
            parts = np.split(state[f"{ours}.self_attention.in_proj_{leaf}"], 3)
            for part, array in zip(("query", "key", "value"), parts, strict=True):
                renamed[f"{prefix}.attention.attention.{part}.{leaf}"] = array
    return renamed | {f"{theirs}.{leaf}": state[f"{ours}.{leaf}"] for theirs, ours in pairs for leaf in ("weight", "bias")}


def timm_state(state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same arrays under the names of timm."""
    names = {
        "class_token": "cls_token",
        "encoder.pos_embedding": "pos_embed",
        "conv_proj.": "patch_embed.proj.",
        "encoder.layers.encoder_layer_": "blocks.",
        "ln_1.": "norm1.",
        "ln_2.": "norm2.",
        "self_attention.in_proj_": "attn.qkv.",
        "self_attention.out_proj.": "attn.proj.",
        "mlp.0.": "mlp.fc1.",
        "mlp.3.": "mlp.fc2.",
        "encoder.ln.": "norm.",
        "heads.head.": "head.",
    }
    renamed = {}
    for name, array in state.items():
        for ours, theirs in names.items():
            name = name.replace(ours, theirs)
        renamed[name] = array
    return renamed


@pytest.mark.parametrize("side", [32, 64])
@pytest.mark.parametrize("renamed", [hugging_face_state, timm_state])
def test_names_of_the_hub_give_the_weights_of_torchvision_names(renamed, side):
    state = torch_state()
    first, second = small(side), small(side)
    zoo.load_weights(first, state, format="torchvision")
    report = zoo.load_weights(second, renamed(state), format="huggingface")
    assert not report.unused
    assert not report.missing
    for one, other in zip(first.weights, second.weights, strict=True):
        if "seed_generator" not in one.path:
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize("kind", ["model", ".keras", ".weights.h5"])
def test_b18_a_checkpoint_of_224_at_384(kind, tmp_path):
    """The class row stays bit for bit, the grid is resampled from 14 x 14 to 24 x 24, everything else is equal."""
    source = small(224)
    given = source
    if kind != "model":
        given = tmp_path / f"source{kind}"
        source.save(given) if kind == ".keras" else source.save_weights(given)
    model = small(384)
    report = zoo.load_weights(model, given)
    assert [(path, theirs, ours) for path, theirs, ours in report.adapted] == [("positions/embeddings", (197, 8), (577, 8))]
    np.testing.assert_array_equal(table(model)[0], table(source)[0])
    grid, resampled = table(source)[1:].reshape(14, 14, 8), table(model)[1:].reshape(24, 24, 8)
    np.testing.assert_allclose(resampled.mean((0, 1)), grid.mean((0, 1)), atol=2e-3)
    # neither turned nor mirrored: each corner is nearest to its own
    corners = [(0, 0), (0, -1), (-1, 0), (-1, -1)]
    distances = np.array([[np.abs(resampled[a] - grid[b]).sum() for b in corners] for a in corners])
    assert distances.argmin(1).tolist() == [0, 1, 2, 3]
    kernels = [np.asarray(one.get_layer("encoder_block2").feedforward.hidden_projection.kernel) for one in (source, model)]
    np.testing.assert_array_equal(*kernels)


def test_b18_a_checkpoint_of_768_wide_tokens():
    """At the width of the base model the table goes from 1 x 197 x 768 to 577 rows, as torchvision names it."""
    source = {name: array for name, array in torch_state(width=768, depth=1, length=197).items() if "pos_embedding" in name}
    model = zoo.create("vit_base_16", input_shape=(384, 384, 3), num_classes=3, overrides={"depth": 1})
    report = zoo.load_weights(model, source, format="torchvision", strict=False)
    assert report.adapted == (("positions/embeddings", (1, 197, 768), (577, 768)),)
    np.testing.assert_array_equal(table(model)[0], source["encoder.pos_embedding"][0, 0])


def test_b18_the_same_size_is_bit_identical():
    source, model = small(224), small(224)
    assert not zoo.load_weights(model, source).adapted
    np.testing.assert_array_equal(table(model), table(source))


def test_b18_without_a_class_token_196_rows_become_576():
    source, model = small(224, AVERAGE), small(384, AVERAGE)
    report = zoo.load_weights(model, source)
    assert report.adapted == (("positions/embeddings", (196, 8), (576, 8)),)


def test_b18_rectangular_images_have_a_rectangular_grid():
    source = small(32)
    model = zoo.create("vit_base_16", num_classes=3, input_shape=(32, 64, 3), overrides=SMALL)
    zoo.load_weights(model, source)
    resampled, grid = table(model)[1:].reshape(2, 4, 8), table(source)[1:].reshape(2, 2, 8)
    # rows are kept, columns are interpolated
    np.testing.assert_allclose(resampled[:, [0, -1]].mean((1,)), grid.mean(1), atol=0.05)


def test_a_table_of_equal_length_for_another_grid_is_resampled():
    """Sixteen places in a square are not sixteen places in two rows; a table of the same two rows is copied."""
    source = small(64)
    model, second = (zoo.create("vit_base_16", num_classes=3, input_shape=(32, 128, 3), overrides=SMALL) for _ in range(2))
    assert zoo.load_weights(model, source).adapted == (("positions/embeddings", (17, 8), (17, 8)),)
    np.testing.assert_allclose(table(model)[1:].mean(0), table(source)[1:].mean(0), atol=0.05)
    assert not np.allclose(table(model), table(source))
    foreign = zoo.load_weights(second, torch_state(length=17), format="torchvision")
    assert foreign.adapted == (("positions/embeddings", (1, 17, 8), (17, 8)),)
    assert zoo.load_weights(second, model).adapted == ()
    assert zoo.load_weights(second, {weight.path: np.asarray(weight) for weight in model.weights}).adapted == ()
    np.testing.assert_array_equal(table(second), table(model))


@pytest.mark.parametrize(("theirs", "ours", "lengths"), [(SMALL, AVERAGE, (197, 576)), (AVERAGE, SMALL, (196, 577))])
def test_b18_a_table_with_and_one_without_class_token_do_not_mix(theirs, ours, lengths):
    source, model = small(224, theirs), small(384, ours)
    before = table(model).copy()
    with pytest.raises(zoo.CanonError, match=f"length {lengths[0]} cannot be resampled to {lengths[1]}"):
        zoo.load_weights(model, source)
    np.testing.assert_array_equal(table(model), before)
