"""The OpenAPI document of the HTTP interface, made from the models that are served."""

from typing import Any

from .catalogue import Catalogue

_JSON = "application/json"
_ERROR = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}, "additionalProperties": False}
_TENSOR = {
    "description": 'Numbers, strings, booleans or {"b64": ...} values, or nested lists of one of these; or an object of named ones.',
    "anyOf": [
        {"type": "array", "items": {}},
        {"type": "object"},
        {"type": "number"},
        {"type": "string"},
        {"type": "boolean"},
    ],
}
_REQUEST = {
    "oneOf": [
        {
            "type": "object",
            "required": ["instances"],
            "properties": {"signature_name": {"type": "string"}, "instances": {"type": "array", "minItems": 1, "items": {}}},
            "not": {"required": ["inputs"]},
        },
        {
            "type": "object",
            "required": ["inputs"],
            "properties": {"signature_name": {"type": "string"}, "inputs": _TENSOR},
            "not": {"required": ["instances"]},
        },
    ]
}
_REPLY = {
    "oneOf": [
        {"type": "object", "required": ["predictions"], "properties": {"predictions": {"type": "array"}}, "additionalProperties": False},
        {"type": "object", "required": ["outputs"], "properties": {"outputs": {}}, "additionalProperties": False},
    ]
}
_STATUS = {
    "type": "object",
    "required": ["model_version_status"],
    "properties": {
        "model_version_status": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["version", "state", "status"],
                "properties": {
                    "version": {"type": "string"},
                    "state": {"enum": ["LOADING", "AVAILABLE", "END"]},
                    "status": {
                        "type": "object",
                        "required": ["error_code", "error_message"],
                        "properties": {"error_code": {"type": "string"}, "error_message": {"type": "string"}},
                    },
                },
            },
        }
    },
}
_METADATA = {
    "type": "object",
    "required": ["model_spec", "metadata"],
    "properties": {"model_spec": {"type": "object"}, "metadata": {"type": "object"}},
}
# what every path can answer besides its success
_REFUSALS = {
    "400": "The request cannot be answered as it is.",
    "401": "The bearer token is missing or wrong.",
    "404": "There is no such model, version, label or signature.",
    "408": "The request did not arrive in time.",
    "413": "The request is larger than allowed.",
    "429": "The server is busy.",
    "504": "The model did not answer in time.",
}


def describe_interface(catalogue: Catalogue) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document."""
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "enum": sorted(catalogue.models)}}
    version = {"name": "version", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1, "maximum": 2**31}}
    label = {"name": "label", "in": "path", "required": True, "schema": {"type": "string", "pattern": "^[a-z]{1,20}$"}}
    paths: dict[str, Any] = {}
    for base, parameters in (
        ("/v1/models/{name}", [name]),
        ("/v1/models/{name}/versions/{version}", [name, version]),
        ("/v1/models/{name}/labels/{label}", [name, label]),
    ):
        paths[base] = {"parameters": parameters, "get": _get("State of the versions", _STATUS)}
        paths[base + "/metadata"] = {"parameters": parameters, "get": _get("Signatures", _METADATA)}
        paths[base + ":predict"] = {"parameters": parameters, "post": _predict()}
        paths[base + ":stream"] = {"parameters": parameters, "post": _stream()}
    paths["/healthz"] = {"get": _get("Whether the process lives", {"type": "object"}, refusals=())}
    paths["/readyz"] = {"get": _get("Whether it takes requests", {"type": "object"}, refusals=("503",))}
    paths["/models.json"] = {"get": _get("Cards of the models", {"type": "object"}, refusals=("401",))}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Keras Canon server", "version": "1", "description": "TensorFlow Serving's REST interface."},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _get(summary: str, schema: dict[str, Any], refusals: tuple[str, ...] = ("400", "401", "404")) -> dict[str, Any]:
    return {"summary": summary, "responses": {"200": _content("The answer.", schema), **_refused(refusals)}}


def _predict() -> dict[str, Any]:
    body = {"required": True, "content": {_JSON: {"schema": _REQUEST}}}
    return {
        "summary": "Compute a batch",
        "requestBody": body,
        "responses": {"200": _content("The outputs, in the form of the request.", _REPLY), **_refused(tuple(_REFUSALS))},
    }


def _stream() -> dict[str, Any]:
    schema = {"type": "object", "properties": {"prompt": {"type": "string"}, "source": {"type": "string"}, "seed": {"type": "integer"}}}
    answer = {"description": "Server-sent events: pieces of the text, then `end`.", "content": {"text/event-stream": {}}}
    return {
        "summary": "Write a text and send it while it is written",
        "requestBody": {"required": True, "content": {_JSON: {"schema": schema}}},
        "responses": {"200": answer, **_refused(tuple(_REFUSALS))},
    }


def _refused(statuses: tuple[str, ...]) -> dict[str, Any]:
    return {status: _content(_REFUSALS.get(status, "Not now."), _ERROR if status in _REFUSALS else {}) for status in statuses}


def _content(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {_JSON: {"schema": schema}}}
