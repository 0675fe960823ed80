"""The warm-up records are what TF Serving's own classes read, and every one of them can be answered."""

import keras
import pytest
import tensorflow as tf

from keras_canon import serving, zoo
from keras_canon.serving.warmup import WARMUP


def test_tf_servings_classes_read_the_records_and_the_model_answers_them(models):
    prediction_log_pb2 = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2", reason="tensorflow-serving-api is not installed")
    servable = serving.load(models / "lenet5")
    path = servable.bundle.path / WARMUP
    assert path.stat().st_size < 10_000
    asked = set()
    for record in tf.data.TFRecordDataset(str(path)):
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        assert request.model_spec.name == "lenet5"
        name = request.model_spec.signature_name
        outputs = servable.predict({key: tf.make_ndarray(value) for key, value in request.inputs.items()}, name)
        assert {len(value) for value in outputs.values()} == {1}
        asked.add(name)
    assert asked == set(servable.signatures)


@pytest.mark.parametrize(("period", "records"), [(5, 0), (8, 1)])
def test_a_guessed_length_that_the_network_does_not_take_is_left_out(period, records, tmp_path):
    signal = keras.Input((None,), name="signal")
    folded = keras.layers.Reshape((-1, period))(signal)
    model = keras.Model(signal, keras.layers.GlobalAveragePooling1D(data_format="channels_last")(folded), name="periods")
    path = serving.export(model, tmp_path / "periods").path / WARMUP
    assert sum(1 for _ in tf.data.TFRecordDataset(str(path))) == records


@pytest.mark.parametrize(("length", "records"), [(2, 0), (3, 1)])
def test_a_text_that_is_too_long_for_the_network_is_left_out(length, records, tmp_path):
    model = zoo.create(
        "bert_tiny_classifier",
        num_classes=3,
        overrides={"vocabulary_size": 259, "depth": 1, "model_dim": 16, "num_heads": 2, "max_length": length},
    )
    text = serving.Text(zoo.ByteTokenizer(), start="<start>", end="<end>")  # three tokens for one letter
    path = serving.export(model, tmp_path / "classifier", text=text).path / WARMUP
    assert sum(b"\x05bytes" in record.numpy() for record in tf.data.TFRecordDataset(str(path))) == records
