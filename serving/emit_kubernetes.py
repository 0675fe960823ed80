"""Kubernetes: TF Serving as a Deployment that grows with its load."""

import json

from .emit_facts import Facts, indented
from .emit_tf_serving import batching_arguments, batching_config, models_config


def kubernetes_files(facts: Facts) -> dict[str, str]:
    """Return one file with everything: volume claim, configuration, deployment, service, autoscaler and disruption budget."""
    documents = [_claim(), _configuration(facts), _deployment(facts), _service(), _autoscaler(), _disruption_budget()]
    head = (
        "# TF Serving over bundles on a shared volume. Run: kubectl apply -f serving.yaml\n"
        f"# then copy the bundles to the volume canon-models: {' '.join(f'{name}/' for name in facts.models)}\n"
    )
    return {"serving.yaml": head + "---\n".join(documents)}


def _claim() -> str:
    return """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: canon-models
spec:
  accessModes: [ReadWriteMany]
  resources:
    requests:
      storage: 10Gi
"""


def _configuration(facts: Facts) -> str:
    batching = "" if facts.open_axes else f"  batching.config: |\n{indented(batching_config(facts), 4)}"
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: canon-serving
data:
  models.config: |
{indented(models_config(facts), 4)}\
{batching}"""


def _deployment(facts: Facts) -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: canon-serving
  labels: {{app: canon-serving}}
spec:
  replicas: 2
  selector:
    matchLabels: {{app: canon-serving}}
  strategy:
    rollingUpdate: {{maxUnavailable: 0, maxSurge: 1}}
  template:
    metadata:
      labels: {{app: canon-serving}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 60
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        seccompProfile: {{type: RuntimeDefault}}
{_container(facts)}\
      volumes:
        - name: models
          persistentVolumeClaim: {{claimName: canon-models, readOnly: true}}
        - name: config
          configMap: {{name: canon-serving}}
"""


def _container(facts: Facts) -> str:
    arguments = "".join(f"            - {argument}\n" for argument in batching_arguments(facts))
    return f"""\
      containers:
        - name: serving
          image: {json.dumps(facts.image)}
          args:
            - --model_config_file=/config/models.config
            - --file_system_poll_wait_seconds=5
{arguments}          ports:
            - {{name: grpc, containerPort: 8500}}
            - {{name: http, containerPort: 8501}}
          readinessProbe:
            httpGet: {{path: /v1/models/{facts.models[0]}, port: http}}
            periodSeconds: 5
          startupProbe:
            tcpSocket: {{port: http}}
            failureThreshold: 60
            periodSeconds: 5
          livenessProbe:
            tcpSocket: {{port: http}}
            periodSeconds: 20
          lifecycle:
            preStop:
              exec: {{command: [sleep, "10"]}}
          resources:
            requests: {{cpu: "1", memory: 1Gi}}
            limits: {{memory: 4Gi}}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {{drop: [ALL]}}
          volumeMounts:
            - {{name: models, mountPath: /models, readOnly: true}}
            - {{name: config, mountPath: /config, readOnly: true}}
"""


def _service() -> str:
    return """\
apiVersion: v1
kind: Service
metadata:
  name: canon-serving
spec:
  selector: {app: canon-serving}
  ports:
    - {name: grpc, port: 8500, targetPort: grpc}
    - {name: http, port: 8501, targetPort: http}
"""


def _autoscaler() -> str:
    return """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: canon-serving
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: canon-serving}
  minReplicas: 2
  maxReplicas: 20
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: {type: Utilization, averageUtilization: 70}
"""


def _disruption_budget() -> str:
    return """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: canon-serving
spec:
  minAvailable: 1
  selector:
    matchLabels: {app: canon-serving}
"""
