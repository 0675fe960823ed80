"""Published weights under the names of the hub, and what is refused."""

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from keras_canon import training, zoo
from keras_canon.zoo import fetch

SIZES = {"vocabulary_size": 19, "max_length": 8, "depth": 2, "model_dim": 12, "num_heads": 3}
WIDTH, INNER = 12, 48


def drawn(shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    random = np.random.RandomState(2)
    return {name: random.standard_normal(shape).astype("float32") for name, shape in shapes.items()}


def pairs(name: str, shape: tuple[int, ...], leaves=("weight", "bias")) -> dict[str, tuple[int, ...]]:
    return {f"{name}.{leaves[0]}": shape, f"{name}.{leaves[1]}": shape[-1:]}


def gpt_state(prefix: str = "transformer.", tables=("wte", "wpe"), final_norm: bool = True) -> dict[str, np.ndarray]:
    """Random arrays as GPT-2 and GPT-1 list them; linear layers are stored (in, out)."""
    shapes: dict[str, tuple[int, ...]] = {f"{tables[0]}.weight": (19, WIDTH), f"{tables[1]}.weight": (8, WIDTH)}
    for block in range(2):
        for name, shape in {
            "ln_1": (WIDTH,),
            "attn.c_attn": (WIDTH, 3 * WIDTH),
            "attn.c_proj": (WIDTH, WIDTH),
            "ln_2": (WIDTH,),
            "mlp.c_fc": (WIDTH, INNER),
            "mlp.c_proj": (INNER, WIDTH),
        }.items():
            shapes |= pairs(f"h.{block}.{name}", shape)
    if final_norm:
        shapes |= pairs("ln_f", (WIDTH,))
    return drawn({prefix + name: shape for name, shape in shapes.items()})


def bert_state(prefix: str = "", norm_leaves=("weight", "bias"), heads: bool = False) -> dict[str, np.ndarray]:
    """Random arrays as BERT lists them; linear layers are stored (out, in), so a bias has the first size."""

    def linear(name, inputs, outputs):
        return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}

    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (19, WIDTH),
        "embeddings.position_embeddings.weight": (8, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        **pairs("embeddings.LayerNorm", (WIDTH,), norm_leaves),
        **linear("pooler.dense", WIDTH, WIDTH),
    }
    for block in range(2):
        layer = f"encoder.layer.{block}"
        for part in ("query", "key", "value"):
            shapes |= linear(f"{layer}.attention.self.{part}", WIDTH, WIDTH)
        shapes |= linear(f"{layer}.attention.output.dense", WIDTH, WIDTH) | pairs(
            f"{layer}.attention.output.LayerNorm", (WIDTH,), norm_leaves
        )
        shapes |= linear(f"{layer}.intermediate.dense", WIDTH, INNER) | linear(f"{layer}.output.dense", INNER, WIDTH)
        shapes |= pairs(f"{layer}.output.LayerNorm", (WIDTH,), norm_leaves)
    state = drawn({prefix + name: shape for name, shape in shapes.items()})
    if heads:
        state |= drawn(
            {
                "cls.predictions.bias": (19,),
                **linear("cls.predictions.transform.dense", WIDTH, WIDTH),
                **pairs("cls.predictions.transform.LayerNorm", (WIDTH,), norm_leaves),
                **linear("cls.seq_relationship", WIDTH, 2),
            }
        )
        state["cls.predictions.decoder.weight"] = state[f"{prefix}embeddings.word_embeddings.weight"]
        state["cls.predictions.decoder.bias"] = state["cls.predictions.bias"]
    return state


def weights(model) -> dict[str, np.ndarray]:
    return {weight.path: np.asarray(weight) for weight in model.trainable_weights}


def assert_equal(one, other):
    assert one.keys() == other.keys()
    for path, value in one.items():
        np.testing.assert_array_equal(value, other[path], err_msg=path)


def test_gpt2_fused_projections_are_cut_into_query_key_and_value():
    model, state = zoo.create("gpt2", overrides=SIZES), gpt_state()
    zoo.load_weights(model, state)  # the format is found by the names
    found, fused = weights(model), state["transformer.h.1.attn.c_attn.weight"]
    for number, part in enumerate(("query", "key", "value")):
        np.testing.assert_array_equal(
            found[f"decoder_block2/self_attention/{part}/kernel"], fused[:, number * WIDTH : (number + 1) * WIDTH]
        )
    np.testing.assert_array_equal(found["decoder_block1/self_attention/output/kernel"], state["transformer.h.0.attn.c_proj.weight"])


def test_gpt2_as_the_hub_lists_it():
    """Without the prefix, with the causal masks and the output matrix a second time."""
    plain, hub = zoo.create("gpt2", overrides=SIZES), zoo.create("gpt2", overrides=SIZES)
    zoo.load_weights(plain, gpt_state(), format="huggingface")
    buffers = {f"h.{block}.attn.bias": np.ones((1, 1, 8, 8), "float32") for block in range(2)}
    state = gpt_state(prefix="") | buffers
    report = zoo.load_weights(hub, {**state, "lm_head.weight": state["wte.weight"]}, format="huggingface")
    assert set(report.unused) == {*buffers, "lm_head.weight"}
    assert_equal(weights(plain), weights(hub))


def test_gpt2_another_output_matrix_is_refused():
    model, state = zoo.create("gpt2", overrides=SIZES), gpt_state()
    before = weights(model)
    with pytest.raises(zoo.CanonError, match=r"lm_head.weight differs from the array for tokens/embeddings, and 'gpt2' has one matrix"):
        zoo.load_weights(model, {**state, "lm_head.weight": state["transformer.wte.weight"] + 1.0}, format="huggingface")
    assert_equal(weights(model), before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary_size": 20}, r"tokens/embeddings is \(20, 12\) and the source has \(19, 12\)"),
        ({"max_length": 16}, r"positions/embeddings is \(16, 12\) and the source has \(8, 12\)"),
        ({"depth": 3}, r"decoder_block3/self_attention/query/kernel \(12, 12\) is missing"),
        ({"depth": 1}, r"transformer.h.1.ln_1.weight is not used"),
        ({"model_dim": 24}, r"tokens/embeddings is \(19, 24\) and the source has \(19, 12\)"),
    ],
)
def test_gpt2_of_another_size_is_refused_in_one_sentence(changes, message):
    model = zoo.create("gpt2", overrides={**SIZES, **changes})
    before = weights(model)
    with pytest.raises(zoo.CanonError, match=message):
        zoo.load_weights(model, gpt_state(), format="huggingface")
    assert_equal(weights(model), before)


def test_gpt1():
    model = zoo.create("gpt1", overrides={**SIZES, "feedforward_dim": INNER})
    state = gpt_state(tables=("tokens_embed", "positions_embed"), final_norm=False)
    report = zoo.load_weights(model, state, format="huggingface")
    assert not report.unused
    assert not report.missing


@pytest.mark.parametrize("leaves", [("weight", "bias"), ("gamma", "beta")])
def test_bert_with_and_without_its_heads(leaves):
    """The hub's first files call the parameters of a norm gamma and beta."""
    state = bert_state("bert.", leaves, heads=True)
    encoder, whole = zoo.create("bert_base", overrides=SIZES), zoo.create("bert_base_pretraining", overrides=SIZES)
    report = zoo.load_weights(encoder, state, format="huggingface")
    assert set(report.unused) == {name for name in state if name.startswith("cls.")}
    report = zoo.load_weights(whole, state, format="huggingface")
    assert set(report.unused) == {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    found = weights(whole)
    np.testing.assert_array_equal(found["tokens/output_bias"], state["cls.predictions.bias"])
    assert_equal(weights(encoder), {path: found[path] for path in weights(encoder)})
    other = zoo.create("bert_base", overrides=SIZES)
    zoo.load_weights(other, bert_state("", leaves), format="huggingface")
    assert_equal(weights(encoder), weights(other))


@pytest.mark.parametrize(
    ("name", "head", "classes"), [("classifier", "classifier", 3), ("tagger", "classifier", 3), ("span", "qa_outputs", 2)]
)
def test_bert_with_a_head_for_a_task(name, head, classes):
    model = zoo.create(f"bert_base_{name}", overrides=SIZES, num_classes=classes)
    arrays = drawn({f"{head}.weight": (classes, WIDTH), f"{head}.bias": (classes,)})
    zoo.load_weights(model, bert_state("bert.") | arrays, format="huggingface")
    np.testing.assert_array_equal(weights(model)["logits/kernel"], arrays[f"{head}.weight"].T)


def test_bert_for_pretraining_gives_a_classifier_its_body(tmp_path):
    """Transfer: `create` with a class count leaves the new head as it is."""
    save_file(bert_state("bert.", heads=True), tmp_path / "model.safetensors")
    model = zoo.create("bert_base_classifier", overrides=SIZES, num_classes=5, weights=tmp_path / "model.safetensors")
    np.testing.assert_array_equal(weights(model)["pooled/bias"], bert_state("bert.")["bert.pooler.dense.bias"])


def test_hub_tag_out_of_the_cache_and_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setattr(fetch.importlib.util, "find_spec", lambda name: None)

    def unreachable(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr(fetch, "urlopen", unreachable)
    with pytest.raises(zoo.CanonError, match=r"The weights 'hf:gpt2' of 'gpt2' could not be fetched from hf://.*no route to host"):
        zoo.create("gpt2", weights="hf:gpt2", overrides=SIZES)
    kept = fetch.cached_path(zoo.info("gpt2").weights[0].url)
    kept.parent.mkdir(parents=True, exist_ok=True)
    save_file(gpt_state(), kept)
    with pytest.warns(UserWarning, match="No hash is published for the weights 'hf:gpt2'"):
        model = zoo.create("gpt2", weights="hf:gpt2", overrides=SIZES)
    assert model.record.weights == "hf:gpt2"
    np.testing.assert_array_equal(weights(model)["tokens/embeddings"], gpt_state()["transformer.wte.weight"])


def test_an_unknown_tag_names_the_known_one():
    with pytest.raises(zoo.CanonError, match=r"'gpt2' has no published weights 'hf:gpt3': available: hf:gpt2"):
        zoo.create("gpt2", weights="hf:gpt3")


def test_rows_with_token_tables_do_not_take_the_arrays_of_a_network_of_vectors():
    with pytest.raises(
        zoo.CanonError, match=r"'transformer_tiny' cannot take weights in the format 'torch'.*such weights fit 'transformer_tiny_torch'"
    ):
        zoo.load_weights(zoo.create("transformer_tiny"), drawn({"encoder.norm.weight": (128,)}), format="torch")


def test_the_head_of_masked_pieces_has_the_activation_of_the_blocks(tmp_path):
    sizes = {"depth": 1, "model_dim": 8, "num_heads": 2, "feedforward_dim": 16, "vocabulary_size": 20, "activation": "gelu_tanh"}
    model = zoo.create("bert_tiny_pretraining", overrides=sizes)
    model.save(tmp_path / "model.keras")
    again = zoo.load_model(tmp_path / "model.keras")
    given = {"token_ids": np.array([[2, 5, 7]]), "segment_ids": np.zeros((1, 3), "int32")}
    np.testing.assert_array_equal(model(given)["token_logits"], again(given)["token_logits"])


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("dropped", ["cls.predictions.bias", "bert.embeddings.word_embeddings.weight", "transformer.wte.weight"])
def test_an_array_of_two_names_that_is_stored_under_the_second_alone(dropped, strict):
    """`safetensors.torch.save_model` drops one of two names of the same memory."""
    name = "gpt2" if dropped.startswith("transformer") else "bert_tiny_pretraining"
    state = bert_state("bert.", heads=True)
    if name == "gpt2":
        state = gpt_state()
        state["lm_head.weight"] = state[dropped]
    whole, model = zoo.create(name, overrides=SIZES), zoo.create(name, overrides=SIZES)
    zoo.load_weights(whole, state, format="huggingface")
    rest = {key: array for key, array in state.items() if key != dropped}
    report = zoo.load_weights(model, rest, format="huggingface", strict=strict)
    assert not report.missing
    assert_equal(weights(whole), weights(model))


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "_orig_mod.module."])
@pytest.mark.parametrize("format", ["auto", "huggingface"])
def test_names_with_what_a_wrapper_put_before_them(prefix, format, tmp_path):
    plain, wrapped = zoo.create("gpt2", overrides=SIZES), zoo.create("gpt2", overrides=SIZES)
    zoo.load_weights(plain, gpt_state())
    state = {prefix + name: array for name, array in gpt_state().items()}
    zoo.load_weights(wrapped, state, format=format)
    assert_equal(weights(plain), weights(wrapped))
    save_file(state, tmp_path / "state.safetensors")
    again = zoo.create("gpt2", overrides=SIZES)
    zoo.load_weights(again, tmp_path / "state.safetensors", format=format)
    assert_equal(weights(plain), weights(again))
    with pytest.raises(zoo.CanonError, match="is missing"):  # not of all names
        zoo.load_weights(wrapped, state | {"transformer.ln_f.bias": state.pop(f"{prefix}transformer.ln_f.bias")}, format="huggingface")


def test_arrays_of_half_precision(tmp_path):
    state = {name: array.astype(ml_dtypes.bfloat16) for name, array in gpt_state().items()}
    expected = {name: array.astype("float32") for name, array in state.items()}
    save_file(state, tmp_path / "state.safetensors")
    models = [zoo.create("gpt2", overrides=SIZES) for _ in range(3)]
    for model, source in zip(models, (expected, state, tmp_path / "state.safetensors"), strict=True):
        zoo.load_weights(model, source)
    for model in models[1:]:
        assert_equal(weights(models[0]), weights(model))


@pytest.mark.parametrize("kind", ["model", ".safetensors", ".keras", ".weights.h5"])
def test_a_model_with_lora_gives_its_merged_kernels(kind, tmp_path):
    adapted = zoo.create("gpt2_tiny", overrides=SIZES)
    training.add_lora(adapted, rank=2, alpha=6)
    for weight in adapted.weights:
        if "lora_kernel_b" in weight.path:
            weight.assign(np.random.RandomState(1).standard_normal(weight.shape))
    model, source = zoo.create("gpt2_tiny", overrides=SIZES), adapted
    if kind != "model":
        source = tmp_path / f"adapted{kind}"
        adapted.save(source) if kind == ".keras" else adapted.save_weights(source)
    report = zoo.load_weights(model, source)
    assert (report.missing, report.unused, report.skipped) == ((), (), ())
    ids = np.array([[3, 4, 5]])
    np.testing.assert_allclose(np.asarray(model(ids)), np.asarray(adapted(ids)), rtol=0, atol=1e-5)
    assert_equal(weights(model), weights(training.merge_lora(adapted)))


def test_from_lora_to_lora_everything_goes_as_it_is():
    one, other = zoo.create("gpt2_tiny", overrides=SIZES), zoo.create("gpt2_tiny", overrides=SIZES)
    for model in (one, other):
        training.add_lora(model, rank=2)
    zoo.load_weights(other, one)
    assert {weight.path for weight in one.weights if "lora" in weight.path}
    for mine, theirs in zip(one.weights, other.weights, strict=True):
        if "seed" not in mine.path:
            np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))
