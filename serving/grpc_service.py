"""TensorFlow Serving's gRPC services, `PredictionService` and `ModelService`, over the models of a catalogue."""

import concurrent.futures
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import grpc
from google.protobuf.json_format import ParseDict
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from ..zoo.errors import CanonError
from .access import same_token
from .app import Parts
from .errors import RequestError, timed_out
from .grpc_tensors import from_message, to_message
from .logs import Log
from .rest import describe
from .servable import DEFAULT_SIGNATURE, check_names
from .served import Served

_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    404: grpc.StatusCode.NOT_FOUND,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}


@dataclass
class _Call:
    """What is noted of a call, and what counts the bytes that it holds."""

    model: str = ""
    hold: Callable[[int], None] = lambda size: None


class Guard:
    """Goes around every call: token, room, errors as statuses, log line and metrics.

    Args:
        parts: what the endpoints work with.
        token: the bearer token that calls must carry as `authorization` metadata; None lets everyone in.
        log: gets a line a call.
    """

    def __init__(self, parts: Parts, token: str | None, log: Log):
        self._parts = parts
        self._token = None if token is None else token.encode()
        self._log = log

    @contextmanager
    def call(self, method: str, request: Any, context: grpc.ServicerContext) -> Iterator[_Call]:
        """Wrap one call; an error that the request caused ends it with the status that fits."""
        started = time.perf_counter()
        call, code = _Call(), grpc.StatusCode.UNKNOWN
        try:
            self._check_token(context)
            with self._parts.intake.admit() as ticket:
                ticket.hold(request.ByteSize())
                call.hold = ticket.hold
                yield call
            code = grpc.StatusCode.OK
        except CanonError as error:
            code = _CODES.get(error.status if isinstance(error, RequestError) else 400, grpc.StatusCode.INTERNAL)
            _abort(context, code, str(error))
        finally:
            seconds = time.perf_counter() - started
            self._parts.metrics.answered("grpc", call.model, code.name, seconds)
            fields = {"protocol": "grpc", "client": context.peer(), "method": method, "status": code.name, "ms": round(1e3 * seconds, 2)}
            self._log.write("request", fields)

    def _check_token(self, context: grpc.ServicerContext) -> None:
        if self._token is None:
            return
        metadata = {str(key): value for key, value in context.invocation_metadata()}
        if not same_token(str(metadata.get("authorization", "")), self._token):
            raise RequestError("This server asks for a bearer token: send the metadata authorization: 'Bearer TOKEN'.", 401)


def _abort(context: grpc.ServicerContext, code: grpc.StatusCode, message: str) -> NoReturn:
    context.abort(code, message)
    raise AssertionError("abort returned")


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata; the calls for `tf.Example` records answer UNIMPLEMENTED.

    Args:
        parts: what the endpoints work with.
        guard: goes around every call.
    """

    def __init__(self, parts: Parts, guard: Guard):
        self._parts = parts
        self._guard = guard

    def Predict(self, request: predict_pb2.PredictRequest, context: grpc.ServicerContext) -> predict_pb2.PredictResponse:
        """Compute a batch."""
        with self._guard.call("Predict", request, context) as call:
            served = _find(self._parts, request.model_spec)
            call.model = served.servable.bundle.name
            name = request.model_spec.signature_name or DEFAULT_SIGNATURE
            outputs = self._compute(served, name, request, context, call.hold)
            reply = predict_pb2.PredictResponse()
            _name_model(reply.model_spec, served, name)
            for key, array in outputs.items():
                reply.outputs[key].CopyFrom(to_message(array))
            return reply

    def _compute(
        self, served: Served, name: str, request: predict_pb2.PredictRequest, context: grpc.ServicerContext, hold: Callable[[int], None]
    ) -> dict[str, Any]:
        signature = served.servable.signature(name)
        check_names(request.inputs, signature.inputs, name)
        wanted = list(request.output_filter) or list(signature.outputs)
        unknown = [key for key in wanted if key not in signature.outputs]
        if unknown:
            raise RequestError(f"output_filter must name outputs of {name!r} ({', '.join(signature.outputs)}), got {unknown[0][:30]!r}.")
        limits = self._parts.limits
        arrays = {key: from_message(request.inputs[key], spec, key, limits, hold) for key, spec in signature.inputs.items()}
        # the client's own deadline may be nearer
        remaining = context.time_remaining()
        seconds = limits.timeout_s if remaining is None else min(remaining, limits.timeout_s)
        future = served.submit(name, arrays)
        try:
            outputs = future.result(seconds)
        except concurrent.futures.TimeoutError as error:
            future.cancel()
            raise timed_out(seconds) from error
        return {key: outputs[key] for key in wanted}

    def GetModelMetadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest, context: grpc.ServicerContext
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        """Tell the signatures of a model."""
        with self._guard.call("GetModelMetadata", request, context) as call:
            if list(request.metadata_field) != ["signature_def"]:
                raise RequestError(f"metadata_field must be ['signature_def'], got {list(request.metadata_field)[:3]}.")
            served = _find(self._parts, request.model_spec)
            call.model = served.servable.bundle.name
            known = describe(served.servable)["metadata"]["signature_def"]
            reply = get_model_metadata_pb2.GetModelMetadataResponse()
            _name_model(reply.model_spec, served, "")
            reply.metadata["signature_def"].Pack(ParseDict(known, get_model_metadata_pb2.SignatureDefMap()))
            return reply


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus; models are taken from the folder, so HandleReloadConfigRequest answers UNIMPLEMENTED.

    Args:
        parts: what the endpoints work with.
        guard: goes around every call.
    """

    def __init__(self, parts: Parts, guard: Guard):
        self._parts = parts
        self._guard = guard

    def GetModelStatus(
        self, request: get_model_status_pb2.GetModelStatusRequest, context: grpc.ServicerContext
    ) -> get_model_status_pb2.GetModelStatusResponse:
        """Tell the states of a model's versions."""
        with self._guard.call("GetModelStatus", request, context):
            return ParseDict(self._parts.catalogue.status(*_which(request.model_spec)), get_model_status_pb2.GetModelStatusResponse())


def _which(spec: model_pb2.ModelSpec) -> tuple[str, int | None, str | None]:
    choice = spec.WhichOneof("version_choice")
    return spec.name, spec.version.value if choice == "version" else None, spec.version_label if choice == "version_label" else None


def _find(parts: Parts, spec: model_pb2.ModelSpec) -> Served:
    return parts.catalogue.find(*_which(spec))


def _name_model(spec: model_pb2.ModelSpec, served: Served, signature: str) -> None:
    spec.name = served.servable.bundle.name
    spec.version.value = served.servable.bundle.version
    spec.signature_name = signature


def build_grpc(parts: Parts, token: str | None, log: Log, address: tuple[str, int]) -> tuple[grpc.Server, int]:
    """Make the gRPC server and take its port; it answers from its `start` on.

    Args:
        parts: what the endpoints work with.
        token: the bearer token that calls must carry; None lets everyone in.
        log: gets a line a call.
        address: where to listen: host and port, 0 for any free one.

    Returns:
        the server and its port.

    Raises:
        CanonError: when the port is taken.
    """
    host, port = address
    limits = parts.limits
    options: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", limits.max_body),
        ("grpc.max_send_message_length", -1),
        # without this a second server would take half the calls of the first
        ("grpc.so_reuseport", 0),
    ]
    workers = concurrent.futures.ThreadPoolExecutor(64, thread_name_prefix="canon-grpc")
    server = grpc.server(workers, options=options, maximum_concurrent_rpcs=limits.max_pending)
    guard = Guard(parts, token, log)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(PredictionService(parts, guard), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(ModelService(parts, guard), server)
    try:
        bound = server.add_insecure_port(f"{f'[{host}]' if ':' in host else host}:{port}")
    except RuntimeError as error:
        raise CanonError(f"Cannot listen on {host} port {port} for gRPC: give another --grpc-port, or 0 for any free one.") from error
    return server, bound
