"""The warm-up records are what TF Serving's own classes read, and every one of them can be answered."""

import keras
import pytest
import tensorflow as tf

from keras_canon import serving
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
