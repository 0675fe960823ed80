"""Precision: which policy is chosen where, that it is found once, and that a float16 run has its loss scale."""

import keras
import numpy as np
import pytest

from keras_canon.training import auto_precision, precision
from keras_canon.training.auto_precision import resolve_precision
from keras_canon.training.building import build
from keras_canon.training.pipeline import load_data
from keras_canon.training.precision import choose_precision, has_bfloat16_instructions, precision_policy, update_seconds
from keras_canon.training.recipe import load_recipe, recipe_toml

FAST = "lenet5_modern_fashion_mnist"


def never(policy):
    raise AssertionError(f"{policy} was measured")


def devices(*kinds):
    return lambda kind: [kind] if kind in kinds else []


@pytest.mark.parametrize(
    ("name", "kinds", "expected"),
    [
        ("float32", ("GPU",), "float32"),
        ("mixed_bfloat16", (), "mixed_bfloat16"),
        ("auto", ("GPU",), "mixed_float16"),
        ("auto", ("TPU",), "mixed_bfloat16"),
        ("auto", ("TPU", "GPU"), "mixed_bfloat16"),
    ],
)
def test_accelerators_decide_without_a_measurement(name, kinds, expected):
    assert choose_precision(name, never, devices=devices(*kinds)) == expected


@pytest.mark.parametrize(("bfloat16", "float32", "expected"), [(0.5, 1.0, "mixed_bfloat16"), (0.95, 1.0, "float32"), (2.0, 1.0, "float32")])
def test_processors_with_instructions_are_measured(bfloat16, float32, expected, monkeypatch):
    times = {"mixed_bfloat16": bfloat16, "float32": float32}
    monkeypatch.setattr(precision, "has_bfloat16_instructions", lambda: True)
    assert choose_precision("auto", times.__getitem__, devices=devices()) == expected


def test_processors_without_instructions_are_not_measured(monkeypatch):
    monkeypatch.setattr(precision, "has_bfloat16_instructions", lambda: False)
    assert choose_precision("auto", never, devices=devices()) == "float32"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flags\t\t: fpu avx512_bf16 sse\n", True),
        ("flags\t\t: fpu amx_bf16\n", True),
        ("Features\t: fp asimd bf16\n", True),
        ("flags\t\t: fpu avx512f avx512_bf16x\n", False),
        ("model name\t: bf16\n", False),
    ],
)
def test_instructions_are_read_from_the_kernel(text, expected, tmp_path):
    (tmp_path / "cpuinfo").write_text(text, encoding="utf-8")
    assert has_bfloat16_instructions(tmp_path / "cpuinfo") is expected
    assert not has_bfloat16_instructions(tmp_path / "absent")


def test_the_policy_ends_with_the_block():
    with precision_policy("mixed_bfloat16"):
        assert keras.layers.Dense(1).compute_dtype == "bfloat16"
    with pytest.raises(ValueError, match="float7"), precision_policy("mixed_float7"):
        pytest.fail("there is no such policy")
    assert keras.layers.Dense(1).compute_dtype == "float32"


def test_an_update_is_measured_after_one_that_is_not_counted():
    calls = []
    assert update_seconds(lambda: calls.append(1), times=2) >= 0.0
    assert len(calls) == 3


@pytest.mark.parametrize(("policy", "compute"), [("mixed_float16", "float16"), ("mixed_bfloat16", "bfloat16"), ("float32", "float32")])
def test_a_run_is_built_in_its_precision(policy, compute):
    recipe = load_recipe(FAST, {"train.precision": policy}, smoke=True)
    model = build(recipe, load_data(recipe.data))
    assert model.layers[1].compute_dtype == compute
    assert {weight.dtype for weight in model.weights} == {"float32"}
    assert isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer) == (policy == "mixed_float16")
    assert keras.config.dtype_policy().name == "float32"


def test_auto_is_found_once_and_kept_by_a_resumed_run(tmp_path, monkeypatch):
    recipe = load_recipe(FAST, {"train.precision": "auto"}, smoke=True)
    times = {"mixed_bfloat16": 1.0, "float32": 3.0}
    monkeypatch.setattr(precision, "has_bfloat16_instructions", lambda: True)
    monkeypatch.setattr(auto_precision, "_seconds", lambda recipe, policy: times[policy])
    found = resolve_precision(recipe, tmp_path, alone=True)
    assert found.train.precision == "mixed_bfloat16"
    assert resolve_precision(recipe, tmp_path, alone=False).train.precision == "float32"
    (tmp_path / "recipe.toml").write_text(recipe_toml(found), encoding="utf-8")
    times["float32"] = 0.1
    assert resolve_precision(recipe, tmp_path, alone=True) == found
    other = load_recipe(FAST, {"train.precision": "auto", "train.seed": 1}, smoke=True)
    assert resolve_precision(other, tmp_path, alone=True).train.precision == "float32"
    fixed = load_recipe(FAST, smoke=True)
    assert resolve_precision(fixed, tmp_path, alone=True) is fixed


def test_the_models_own_update_is_measured():
    recipe = load_recipe(FAST, {"train.precision": "auto"}, smoke=True)
    assert np.isfinite(auto_precision._seconds(recipe, "mixed_bfloat16"))


def test_sequences_are_not_measured_and_nothing_goes_before_a_run(monkeypatch):
    monkeypatch.setattr(precision, "has_bfloat16_instructions", lambda: True)
    for name in ("adding_lstm", "seq2seq_attention_dates", "gpt2_tiny_text"):
        recipe = load_recipe(name, {"train.precision": "auto"})
        assert resolve_precision(recipe, None, alone=True).train.precision == "float32"
