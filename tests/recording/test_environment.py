"""Which variables of the environment are written down."""

import json

from tb_health_plugin.recording.environment import environment_settings


def test_only_what_changes_a_training_is_told():
    found = environment_settings(
        {
            "OMP_NUM_THREADS": "4",
            "CUDA_VISIBLE_DEVICES": "-1",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "HOME": "/home/someone",
        }
    )

    assert found == {"env.OMP_NUM_THREADS": "4", "env.CUDA_VISIBLE_DEVICES": "-1"}


def test_what_is_too_long_for_a_setting_is_left_out():
    assert environment_settings({"LD_PRELOAD": "x" * 201, "RANK": ""}) == {}


def test_gpus_that_are_all_hidden_are_told():
    found = environment_settings({"CUDA_VISIBLE_DEVICES": ""})

    assert found == {"env.CUDA_VISIBLE_DEVICES": ""}


def test_a_cluster_is_told_without_its_addresses():
    config = {
        "cluster": {"worker": ["10.0.0.1:1", "10.0.0.2:1"], "ps": ["10.0.0.3:1"]},
        "task": {"type": "worker", "index": 1},
    }

    found = environment_settings({"TF_CONFIG": json.dumps(config)})

    assert found == {"env.TF_CONFIG": "task worker 1, cluster worker 2, ps 1"}


def test_a_cluster_that_cannot_be_read_is_left_out():
    assert environment_settings({"TF_CONFIG": "{"}) == {}
    assert environment_settings({"TF_CONFIG": "[1]"}) == {}


def test_kubernetes_is_told_without_its_address():
    found = environment_settings({"KUBERNETES_SERVICE_HOST": "10.0.0.1"})

    assert found == {"env.KUBERNETES": "True"}
