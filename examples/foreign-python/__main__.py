"""A Deployment as a team writes it by hand. With the defaults of Pulumi.yaml the engine wants 4 GPUs and the pod asks for 2."""

import pulumi
import pulumi_kubernetes as k8s

config = pulumi.Config()
labels = {"app": "chat"}
health = {"http_get": {"path": "/health", "port": "http"}, "timeout_seconds": 5}

# The API server makes up this value, so that no preview knows it.
owner = k8s.core.v1.ConfigMap("owner", metadata={"namespace": config.require("namespace")}, data={"team": "a"})

k8s.apps.v1.Deployment(
    "chat",
    metadata={"name": "chat", "namespace": config.require("namespace")},
    spec={
        "replicas": 1,
        "progress_deadline_seconds": 1500,
        "selector": {"match_labels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "enable_service_links": False,
                "termination_grace_period_seconds": 640,
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                "volumes": [{"name": "shm", "empty_dir": {"medium": "Memory", "size_limit": "8Gi"}}],
                "containers": [
                    {
                        "name": "vllm",
                        "image": config.require("image"),
                        "command": ["vllm", "serve"],
                        "args": [
                            config.require("model"),
                            f"--tensor-parallel-size={config.require_int('tensorParallel')}",
                            "--max-model-len=8192",
                            "--shutdown-timeout=600",
                        ],
                        "env": [{"name": "OWNER", "value": owner.metadata.uid}],
                        "ports": [{"name": "http", "container_port": 8000}],
                        "resources": {
                            "requests": {"cpu": "4", "memory": "48Gi", "nvidia.com/gpu": config.require("gpuRequest")},
                            "limits": {"memory": "48Gi", "nvidia.com/gpu": config.require("gpuLimit")},
                        },
                        "startup_probe": {**health, "period_seconds": 10, "failure_threshold": 120},
                        "readiness_probe": health,
                        "liveness_probe": {**health, "failure_threshold": 6, "termination_grace_period_seconds": 30},
                        "lifecycle": {"pre_stop": {"sleep": {"seconds": 15}}},
                        "volume_mounts": [{"name": "shm", "mount_path": "/dev/shm"}],
                    }
                ],
            },
        },
    },
)
