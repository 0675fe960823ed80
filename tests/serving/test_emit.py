"""Files for other servers, read back by the schemas that those servers publish, where this machine has them."""

import ast
import asyncio
import json
import re
import runpy
import shutil
import sys
from types import ModuleType, SimpleNamespace

import pytest
from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2
from typer.testing import CliRunner

from keras_canon.cli.main import app
from keras_canon.serving.emit import emit
from keras_canon.serving.emit_facts import resource_name
from keras_canon.zoo import CanonError

yaml = pytest.importorskip("yaml")


def documents(path):
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def check_batching(text):
    """TF Serving's BatchingParameters: every field is a wrapped number or truth value; 16 rows are computed at once, 1024 may be asked."""
    fields = dict(re.findall(r"^(\w+) \{ value: (\w+) \}$", text, flags=re.MULTILINE))
    sizes = {"max_batch_size": "1024", "max_execution_batch_size": "16", "enable_large_batch_splitting": "true"}
    assert fields == {**sizes, "batch_timeout_micros": "2000", "max_enqueued_batches": "64", "num_batch_threads": "4"}


def check_models(text):
    config = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    found = [(entry.name, entry.base_path, entry.model_platform) for entry in config.model_config_list.config]
    assert found == [(name, f"/models/{name}", "tensorflow") for name in ("lenet5", "log", "pair")]


def test_docker_compose(models, tmp_path):
    compose, models_config, batching = emit("docker-compose", models, tmp_path / "deploy", max_batch=16)
    check_models(models_config.read_text())
    check_batching(batching.read_text())
    (document,) = documents(compose)
    service = document["services"]["serving"]
    assert re.fullmatch(r"tensorflow/serving:\d+\.\d+\.\d+", service["image"])
    assert [volume["source"] for volume in service["volumes"]] == [str(models), "./config"]
    assert service["ports"] == ["127.0.0.1:8500:8500", "127.0.0.1:8501:8501"]
    assert (tmp_path / "deploy" / "config" / "models.config") == models_config


def test_docker_compose_is_valid_by_its_specification(models, tmp_path):
    compose_spec = pytest.importorskip("compose_spec")
    path = emit("docker-compose", models, tmp_path)[0]
    assert compose_spec.PyCompose.from_yaml(path.read_text(encoding="utf-8")) is not None


def test_inputs_with_an_open_axis_are_served_without_tf_servings_batching(models, tmp_path):
    shutil.copytree(models / "log" / "1", tmp_path / "models" / "text" / "1")
    path = tmp_path / "models" / "text" / "1" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["signatures"]["serving_default"]["inputs"]["point"]["shape"] = [None, None]
    path.write_text(json.dumps(manifest))
    for target in ("docker-compose", "kserve", "kubernetes"):
        written = emit(target, tmp_path / "models", tmp_path / target)
        assert not any("batch" in file.name or "batch" in file.read_text() for file in written)
        assert all(documents(file) for file in written if file.suffix == ".yaml")


def test_kubernetes_is_valid_by_its_schemas(models, tmp_path):
    (path,) = emit("kubernetes", models, tmp_path, max_batch=16)
    found = {document["kind"]: document for document in documents(path)}
    assert list(found) == [
        "PersistentVolumeClaim",
        "ConfigMap",
        "Deployment",
        "Service",
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
    ]
    check_models(found["ConfigMap"]["data"]["models.config"])
    check_batching(found["ConfigMap"]["data"]["batching.config"])
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert labels == found["Service"]["spec"]["selector"] == found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for document in found.values():
        kubernetes_validate.validate(document, "1.31", strict=True)


# the fields of KServe's InferenceServiceSpec (serving.kserve.io/v1beta1) that are used, with their types
KSERVE_PREDICTOR = {
    "minReplicas": int,
    "maxReplicas": int,
    "scaleMetric": str,
    "scaleTarget": int,
    "timeout": int,
    "batcher": {"maxBatchSize": int, "maxLatency": int, "timeout": int},
    "model": {
        "modelFormat": {"name": str, "version": str},
        "runtimeVersion": str,
        "storageUri": str,
        "resources": {"requests": {"cpu": str, "memory": str}, "limits": {"cpu": str, "memory": str}},
    },
}


def check_fields(value, schema):
    if isinstance(schema, dict):
        assert sorted(value) == sorted(schema)
        for name, inner in schema.items():
            check_fields(value[name], inner)
    else:
        assert type(value) is schema


def test_kserve(models, tmp_path):
    (path,) = emit("kserve", models, tmp_path)
    services = documents(path)
    assert [(service["metadata"]["name"], service["spec"]["predictor"]["model"]["storageUri"]) for service in services] == [
        ("lenet5", "pvc://canon-models/lenet5"),
        ("log", "pvc://canon-models/log"),
        ("pair", "pvc://canon-models/pair"),
    ]
    for service in services:
        assert (service["apiVersion"], service["kind"]) == ("serving.kserve.io/v1beta1", "InferenceService")
        check_fields(service["spec"]["predictor"], KSERVE_PREDICTOR)


def test_ray_is_valid_python_and_names_the_models(models, tmp_path):
    (path,) = emit("ray", models, tmp_path)
    text = path.read_text()
    values = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "MODELS":
            values["MODELS"] = ast.literal_eval(node.value)
    assert values == {"MODELS": ("lenet5", "log", "pair")}
    assert repr(str(models)) in text
    assert "@" not in text.replace("@serve.deployment", "")


class Request:
    """Stands for a request of Starlette."""

    def __init__(self, path, body=b""):
        self.url = SimpleNamespace(path=path)
        self.body = body

    async def stream(self):
        yield self.body


def test_the_ray_application_answers_as_tf_serving_does(models, tmp_path, monkeypatch):
    ray = ModuleType("ray")
    ray.serve = SimpleNamespace(deployment=lambda **options: lambda kind: SimpleNamespace(kind=kind, bind=lambda: None))
    monkeypatch.setitem(sys.modules, "ray", ray)
    (path,) = emit("ray", models, tmp_path)
    names = runpy.run_path(str(path))
    replica = names["Models"].kind()

    def ask(*arguments):
        reply = asyncio.run(replica(Request(*arguments)))
        return reply.status_code, json.loads(reply.body)

    state = {"version": "2", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
    assert ask("/v1/models/lenet5") == (200, {"model_version_status": [state]})
    assert ask("/v1/models/log:predict", b'{"instances": [[1, 1, 1]]}') == (200, {"predictions": [[0, 0, 0]]})
    code, reply = ask("/v1/models/log:predict", b" " * (names["LIMITS"].max_body + 1))
    assert (code, reply["error"]) == (413, "The request is larger than 32 MiB, which is the most allowed.")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("lenet5", "lenet5"), ("ResNet_v1.5", "resnet-v1-5"), ("__", "model"), ("3d_net", "model-3d-net"), ("a" * 99, "a" * 50)],
)
def test_names_of_resources(name, expected):
    assert resource_name(name) == expected


def test_the_command_writes_and_never_overwrites(models, tmp_path):
    arguments = ["serve", str(models), "--emit", "kserve", "--out", str(tmp_path / "deploy")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "Wrote" in result.output
    assert "exists: move it away" in str(CliRunner().invoke(app, arguments).exception)


def test_refusals(models, tmp_path):
    for target, folder, words in (
        ("kubernets", models, "did you mean 'kubernetes'"),
        ("ray", tmp_path / "none", "There is no folder"),
        ("ray", models / "lenet5", "is one model: give the folder that holds it"),
        ("ray", models / "lenet5" / "1", "is one model: give the folder that holds it"),
    ):
        with pytest.raises(CanonError, match=words):
            emit(target, folder, tmp_path / "out")
    (tmp_path / "models" / "x" / "1").mkdir(parents=True)
    (tmp_path / "models" / "x" / "1" / "manifest.json").write_text(json.dumps({}))
    with pytest.raises(CanonError, match="cannot be read: export the model again"):
        emit("ray", tmp_path / "models", tmp_path / "out")
