"""The one preprocessing function, against Pillow and by hand."""

import io

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from keras_canon import zoo
from keras_canon.zoo import Preprocessing, apply_preprocessing
from keras_canon.zoo.preprocessing import preprocessing_for


def encode(image: np.ndarray, kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, kind)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def photograph() -> np.ndarray:
    rows, columns = np.mgrid[0:37, 0:53]
    return np.stack([rows * 5, columns * 4, (rows + columns) * 2], -1).astype("uint8")


@pytest.fixture(scope="module")
def model():
    return zoo.create("lenet5", input_shape=(32, 32, 3))


def test_scale_mean_and_deviation_by_hand():
    record = Preprocessing((1, 1), mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
    white = np.full((1, 1, 3), 255, "uint8")
    np.testing.assert_allclose(apply_preprocessing(white, record).numpy().ravel(), [2.2489, 2.4286, 2.64], atol=1e-4)
    caffe = Preprocessing((1, 1), scale=1.0, mean=(103.939, 116.779, 123.68), channel_order="bgr")
    np.testing.assert_allclose(apply_preprocessing(white, caffe).numpy().ravel(), [151.061, 138.221, 131.32], atol=1e-3)


def test_lenet_fields_are_the_papers():
    record = zoo.info("lenet5").preprocessing
    image = np.zeros((28, 28, 1), "uint8")
    image[10:20, 10:20] = 255
    field = apply_preprocessing(image, record).numpy()
    assert field.shape == (32, 32, 1)
    np.testing.assert_allclose([field.min(), field.max()], [-0.1, 1.175], atol=1e-5)
    assert (field[12:22, 12:22] > 1.17).all(), "28 x 28 lies in the centre of 32 x 32"


@pytest.mark.parametrize("resize", ["squash", "crop", "pad"])
@pytest.mark.parametrize("size", [(32, 32), (20, 64), (64, 64), (37, 53)])
def test_resize_rules_against_pillow(photograph, resize, size):
    record = Preprocessing(size, resize=resize, fraction=0.875 if resize != "squash" else 1.0, scale=1.0)
    found = apply_preprocessing(photograph, record).numpy()
    height, width = size
    if resize == "squash":
        shape = size
    elif resize == "crop":
        factor = max(round(height / 0.875) / 37, round(width / 0.875) / 53)
        shape = (max(round(37 * factor), height), max(round(53 * factor), width))
    else:
        factor = min(round(height * 0.875) / 37, round(width * 0.875) / 53)
        shape = (round(37 * factor), round(53 * factor))
    expected = np.asarray(Image.fromarray(photograph).resize(shape[::-1], Image.Resampling.BILINEAR), "float32")
    if resize == "crop":
        top, left = (shape[0] - height) // 2, (shape[1] - width) // 2
        expected = expected[top : top + height, left : left + width]
    elif resize == "pad":
        top, left = (height - shape[0]) // 2, (width - shape[1]) // 2
        expected = np.pad(expected, ((top, height - shape[0] - top), (left, width - shape[1] - left), (0, 0)))
    assert found.shape == (*size, 3)
    assert np.abs(found - expected).max() <= 1.01, "Pillow rounds to whole levels"


@pytest.mark.parametrize("resize", ["squash", "crop", "pad"])
@pytest.mark.parametrize("shape", [(28, 28, 1), (32, 24, 3), (40, 40, 1), (9, 31, 3)])
@pytest.mark.parametrize(
    ("size", "interpolation", "fraction"), [((28, 28), "bilinear", 1.0), ((40, 36), "bicubic", 0.875), ((20, 20), "nearest", 0.8)]
)
def test_a_resize_by_matrix_products_is_the_resize(resize, shape, size, interpolation, fraction):
    record = Preprocessing(size=size, resize=resize, interpolation=interpolation, fraction=fraction, scale=1 / 255, channels=shape[2])
    images = np.random.default_rng(0).integers(0, 256, (3, *shape), dtype="uint8")
    np.testing.assert_allclose(preprocessing_for(shape, record)(images), apply_preprocessing(images, record), atol=2e-6)


@pytest.mark.parametrize("channels", [(1, 1), (3, 3), (3, 1), (1, 3)], ids=str)
@pytest.mark.parametrize(("shape", "size"), [((8, 8), (12, 12)), ((32, 32), (20, 20)), ((28, 28), (29, 29)), ((5, 9), (40, 31))])
def test_a_picture_comes_out_the_same_wherever_it_stands(shape, size, channels):
    given, wanted = channels
    images = np.random.default_rng(0).integers(0, 256, (67, *shape, given), dtype="uint8")
    prepare = tf.function(preprocessing_for((*shape, given), Preprocessing(size, channels=wanted)), reduce_retracing=True)
    whole = prepare(tf.constant(images)).numpy()
    for first, last in ((0, 1), (0, 2), (3, 5), (7, 15), (5, 22), (66, 67)):
        np.testing.assert_array_equal(prepare(tf.constant(images[first:last])), whole[first:last])


def test_channels_are_converted(photograph):
    grey = apply_preprocessing(photograph, Preprocessing((37, 53), channels=1, scale=1.0)).numpy()
    np.testing.assert_allclose(grey[..., 0], photograph @ np.array([0.2989, 0.587, 0.114]), atol=0.1)
    colour = apply_preprocessing(photograph[..., :1], Preprocessing((37, 53), scale=1.0)).numpy()
    np.testing.assert_array_equal(colour[..., 0], colour[..., 2])
    rgba = np.concatenate([photograph, photograph[..., :1]], -1)
    np.testing.assert_array_equal(
        apply_preprocessing(rgba, Preprocessing((37, 53))).numpy(), apply_preprocessing(photograph, Preprocessing((37, 53))).numpy()
    )
    with pytest.raises(zoo.CanonError, match="2 channels"):
        apply_preprocessing(photograph[..., :2], Preprocessing((37, 53)))


def test_same_numbers_from_array_bytes_and_path(photograph, model, tmp_path):
    encoded = encode(photograph, "png")
    (tmp_path / "photo.PNG").write_bytes(encoded)
    by_array = zoo.preprocess(photograph, model).numpy()
    assert by_array.shape == (1, 32, 32, 3)
    for other in (encoded, tmp_path / "photo.PNG", str(tmp_path / "photo.PNG"), [photograph], photograph[None]):
        np.testing.assert_array_equal(zoo.preprocess(other, model).numpy(), by_array)
    mixed = zoo.preprocess([photograph[:20], encoded], model)
    assert mixed.shape == (2, 32, 32, 3)


@pytest.mark.parametrize("kind", ["jpeg", "png", "gif", "bmp", "webp"])
def test_formats(photograph, model, kind):
    assert zoo.preprocess(encode(photograph, kind), model).shape == (1, 32, 32, 3)


def test_one_graph_for_all_sizes(photograph):
    record = Preprocessing((32, 32), resize="crop", fraction=0.875)
    function = tf.function(
        lambda image: apply_preprocessing(image, record), input_signature=[tf.TensorSpec((None, None, 3), tf.uint8)], autograph=False
    )
    for image in (photograph, photograph[:9], photograph[:, :11]):
        np.testing.assert_allclose(function(image).numpy(), apply_preprocessing(image, record).numpy(), atol=1e-6)


def test_images_scaled_already_are_warned_about(photograph, model):
    with pytest.warns(UserWarning, match=r"'lenet5'.*expects 0 to 255"):
        zoo.preprocess(photograph.astype("float32") / 255.0, model)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ("nowhere.jpg", "no image file 'nowhere.jpg'"),
        (b"not an image", "No JPEG, PNG, GIF, BMP or WebP image could be read from the 12 bytes"),
        ([], "no images"),
        (np.zeros((4, 4)), r"array \(height, width, channels\)"),
        (3, "array .*got int"),
    ],
)
def test_bad_images(images, message, model):
    with pytest.raises(zoo.CanonError, match=message):
        zoo.preprocess(images, model)


@pytest.mark.parametrize(
    "arguments",
    [{"size": (0, 4)}, {"fraction": 0.0}, {"fraction": 1.5}, {"mean": (0.1, 0.2)}, {"std": (0.0,)}, {"std": (1.0, 1.0)}],
)
def test_impossible_records(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        Preprocessing(**{"size": (8, 8), **arguments})
