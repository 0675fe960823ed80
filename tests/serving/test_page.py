"""The page, driven in headless Chromium; the screenshot stays in the folder that CANON_ARTEFACTS names, else in pytest's."""

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import keras
import numpy as np
import pytest
import requests
from checks.serving import encode

from keras_canon import serving, zoo

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of ten digits that tells bright pictures from dark ones, and one of plain numbers."""
    folder = tmp_path_factory.mktemp("page")
    keras.utils.set_random_seed(0)
    model = zoo.create("lenet5_modern")
    model.update_record(labels=tuple("0123456789"))
    serving.export(model, folder / "digits")
    point = keras.Input((2,), name="point")
    serving.export(keras.Model(point, keras.layers.Rescaling(2.0, name="double")(point), name="double"), folder / "double")
    return folder


@pytest.fixture(scope="module")
def server(folder):
    with serving.Server(folder, port=0, quiet=True) as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    if find_spec("playwright") is None:
        pytest.skip("playwright is not installed")
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed (Debian: apt-get install chromium-headless-shell)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser, server):
    """An open page that fails the test when it asks for anything elsewhere, or breaks its own content security policy."""
    context = browser.new_context()
    page, outside, complaints = context.new_page(), [], []
    page.on("request", lambda request: outside.append(request.url) if not request.url.startswith((server.url, "data:", "blob:")) else None)
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(server.url + "/")
    page.wait_for_selector("#model option", state="attached")
    yield page
    context.close()
    assert outside == []
    assert complaints == []


def answered(page):
    page.locator("#message", has_text="Answered in").wait_for()


def test_the_files_carry_a_strict_policy(server):
    for path in ("/", "/page/app.js", "/page/drawing.js", "/page/events.js", "/page/style.css"):
        reply = requests.get(server.url + path, timeout=60)
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"https?://(?!127)|<script>|style=|onclick=", reply.text)


def test_cards_tell_what_the_page_shows(server):
    cards = {card["name"]: card for card in requests.get(f"{server.url}/models.json", timeout=60).json()["models"]}
    assert sorted(cards) == ["digits", "double"]
    assert cards["digits"]["labels"] == list("0123456789")
    assert cards["digits"]["parameters"] == zoo.info("lenet5_modern").trainable_parameters
    assert "LeCun" in cards["digits"]["paper"]
    assert cards["double"]["signatures"]["serving_default"] == {"point": {"dtype": "float32", "shape": [None, 2]}}


def test_a_drawn_digit_is_answered_with_the_top_classes(page, server, tmp_path):
    box = page.locator("#drawing").bounding_box()
    page.mouse.move(box["x"] + 140, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 140, box["y"] + 220, steps=8)
    page.mouse.up()
    answered(page)
    assert page.locator("#classes tbody tr").count() == 5
    shares = [float(text.removesuffix(" %")) for text in page.locator("#classes td:last-child").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    assert "LeCun" in page.locator("#card").inner_text()
    assert f"{server.url}/v1/models/digits:predict" in page.locator("#curl").inner_text()
    target = Path(os.environ.get("CANON_ARTEFACTS", tmp_path)) / "page.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=target, full_page=True)
    assert target.stat().st_size > 5000


def test_a_picture_is_answered_as_the_servable_answers_it(page, folder, tmp_path):
    file = tmp_path / "it's a picture.png"
    file.write_bytes(encode(np.random.default_rng(4).integers(0, 256, (50, 40, 3), dtype="uint8")))
    page.set_input_files("#file", file)
    answered(page)
    probabilities = serving.load(folder / "digits").predict(file.read_bytes())["probabilities"][0]
    assert page.locator("#classes th").first.inner_text() == str(int(np.argmax(probabilities)))
    assert page.locator("#classes td:last-child").first.inner_text() == f"{100 * probabilities.max():.1f} %"
    assert "it'\\''s a picture.png" in page.locator("#curl").inner_text()


def test_everything_works_by_keyboard(page):
    page.locator("#drawing").focus()
    for key in ("Space", *["ArrowDown"] * 12, "Space"):
        page.keyboard.press(key)
    answered(page)
    page.keyboard.press("Delete")
    assert page.locator("#message").inner_text() == "Nothing asked yet."
    reached = []
    page.locator("#model").focus()
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    assert [name for name in reached if name in ("drawing", "clear", "file", "ask", "curl", "copy")] == [
        "drawing",
        "clear",
        "file",
        "ask",
        "curl",
        "copy",
    ]


def test_a_model_of_numbers_is_asked_in_json(page):
    page.select_option("#model", index=1)
    page.fill("#json", '[{"point": [1, 2.5]}]')
    page.click("#ask")
    answered(page)
    assert re.sub(r"\s", "", page.locator("#raw").inner_text()) == "[[2,5]]"
    page.fill("#json", "[1,")
    page.click("#ask")
    assert page.locator("#message").inner_text() == "The rows are not valid JSON."


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_writes_goes_on_with_a_text(browser, tmp_path, stream):
    keras.utils.set_random_seed(3)
    model = zoo.create("gpt2_tiny", overrides={"vocabulary_size": 259, "depth": 1, "model_dim": 16, "num_heads": 2, "max_length": 32})
    settings = zoo.Generation(max_new_tokens=6, temperature=1.0)
    serving.export(model, tmp_path / "writer", text=serving.Text(zoo.ByteTokenizer(), settings, stream=stream))
    expected = serving.load(tmp_path / "writer").predict({"prompt": ["In the"], "seed": [7]}, "generate")["text"][0].decode()
    with serving.Server(tmp_path, port=0, quiet=True) as server:
        page = browser.new_page()
        page.goto(server.url + "/")
        page.wait_for_selector("#model option", state="attached")
        page.fill("#text", "In the")
        page.fill("#seed", "7")
        page.click("#ask")
        answered(page)
        assert page.locator("#raw").text_content() == expected
        assert f"writer:{'stream' if stream else 'predict'}" in page.locator("#curl").inner_text()
        page.fill("#text", "x" * 27)
        page.click("#ask")
        page.locator("#message", has_text="A prompt is too long").wait_for()
        page.close()


def test_with_a_token_the_page_asks_for_it(browser, folder):
    with serving.Server(folder / "double", port=0, token="s3cret", quiet=True) as guarded:
        page = browser.new_page()
        page.goto(guarded.url + "/")
        page.wait_for_selector("#token-form", state="visible")
        page.fill("#token", "s3cret")
        page.press("#token", "Enter")
        page.wait_for_selector("#model option", state="attached")
        page.click("#ask")
        answered(page)
        assert "s3cret" not in page.locator("#curl").inner_text()
        page.close()
