"""The Helm chart: Helm and Kubernetes accept what it makes, and the gateway accepts the settings in it."""

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from docsite.reference.helm import list_leaves, list_values
from domogate import __version__
from domogate.settings import load_settings
from domogate.settings.exposure import check_exposure
from release.npm import convert_version
from support.dockerfile import read_dockerfile
from support.helm import CHART, helm, render, write_values
from support.markdown import tables
from support.named_code import ROOT
from support.page_blocks import read_blocks, read_commands

pytestmark = pytest.mark.slow

NEEDED: dict[str, Any] = {"publicUrl": "https://gateway.example.com", "trustedProxies": ["10.42.0.0/16"]}
CLUSTER = {**NEEDED, "mode": "cluster", "secretName": "domogate", "cluster": {"nats": ["nats://nats:4222"], "natsUser": "gate"}}
EVERYTHING = {
    **CLUSTER,
    "config": '[state_max_ages]\nlight = 30\n\n[[mqtt_brokers]]\nname = "hall"\nurl = "mqtts://broker.example.com"\n',
    "image": {"tag": "1.2.3", "pullSecrets": ["registry"]},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "annotations": {"example.com/timeout": "75"},
        "host": "gateway.example.com",
        "tlsSecretName": "certificate",
    },
    "metrics": {"enabled": True, "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}},
    "networkPolicy": {
        "ingressFrom": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}],
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
    },
    "service": {"annotations": {"example.com/note": "x"}},
    "podAnnotations": {"example.com/note": "x"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "gateway", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    ],
}
SETS: dict[str, dict[str, Any]] = {
    "single": NEEDED,
    "single-with-metrics": {**NEEDED, "metrics": {"enabled": True}},
    "cluster": CLUSTER,
    "all": EVERYTHING,
}


def promised_versions() -> list[str]:
    """The oldest and the newest version of Kubernetes that SUPPORT.md names as tested."""
    (row,) = [row for row in tables((ROOT / "SUPPORT.md").read_text())[0] if row["part"].startswith("Kubernetes")]
    found = re.findall(r"\b1\.\d+", row["tested"])
    assert len(found) == 2, row
    return found


OLDEST, NEWEST = promised_versions()


def validate(objects: list[dict[str, Any]], version: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Compare the objects with the schema of a version of Kubernetes."""
    (path := folder / "known.yaml").write_text(yaml.safe_dump_all(objects))
    program = Path(sys.executable).with_name("kubernetes-validate")
    command = [str(program), "--kubernetes-version", version, "--strict", "--no-warn", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def by_kind(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in objects if not one["metadata"]["name"].endswith("-file")}


def pod_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (workload,) = [one for one in objects if one["kind"] in ("StatefulSet", "Deployment")]
    pod: dict[str, Any] = workload["spec"]["template"]["spec"]
    return pod


class TestChart:
    @pytest.mark.parametrize("name", ["single", "all"])  # the other sets add nothing, and Helm needs seconds
    def test_helm_lint_has_no_complaint(self, name: str, tmp_path: Path) -> None:
        told = helm("lint", "--strict", str(CHART), "--values", write_values(tmp_path, SETS[name]))
        assert told.returncode == 0, told.stdout + told.stderr

    def test_the_objects_do_not_depend_on_the_version_of_kubernetes(self) -> None:
        assert render(EVERYTHING, NEWEST) == render(EVERYTHING, OLDEST)

    @pytest.mark.parametrize("version", [OLDEST, NEWEST])
    @pytest.mark.parametrize("name", SETS)
    def test_the_oldest_and_the_newest_kubernetes_accept_the_objects(self, name: str, version: str, tmp_path: Path) -> None:
        known = [one for one in render(SETS[name], OLDEST) if one["kind"] != "ServiceMonitor"]
        told = validate(known, version, tmp_path)
        assert told.returncode == 0, told.stdout + told.stderr
        assert (told.stdout + told.stderr).count(" passed for resource ") == len(known)

    def test_an_older_kubernetes_does_not_know_the_pause_before_sigterm(self, tmp_path: Path) -> None:
        """The field is on by default since 1.30. So this version is the oldest."""
        (workload,) = [one for one in render(NEEDED, OLDEST) if one["kind"] == "StatefulSet"]
        told = validate([workload], "1.28", tmp_path)
        assert told.returncode != 0
        assert "sleep" in told.stdout + told.stderr

    def test_helm_refuses_a_kubernetes_that_is_older_than_the_promised_ones(self, tmp_path: Path) -> None:
        older = f"1.{int(OLDEST.partition('.')[2]) - 1}"
        assert render(NEEDED, OLDEST)
        assert render(NEEDED, f"{OLDEST}.4-gke.100")
        told = helm("template", "home", str(CHART), "--values", write_values(tmp_path, NEEDED), "--kube-version", older)
        assert told.returncode == 1
        assert f"kubeVersion: >={OLDEST}." in told.stderr

    def test_the_newest_promised_kubernetes_is_the_newest_with_a_schema(self) -> None:
        folders = files("kubernetes_validate").joinpath("kubernetes-json-schema").iterdir()
        found = {tuple(map(int, match.groups())) for one in folders if (match := re.match(r"v(\d+)\.(\d+)\.", one.name))}
        newest = ".".join(map(str, max(found)))
        assert newest == NEWEST, "write this version to SUPPORT.md"

    def test_its_version_is_that_of_the_gateway(self) -> None:
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        assert (chart["appVersion"], chart["version"]) == (__version__, convert_version(__version__))


class TestModes:
    def test_one_gateway_is_a_stateful_set_that_never_has_two_pods(self) -> None:
        objects = by_kind(render({**NEEDED, "replicas": 5}, OLDEST))
        assert objects["StatefulSet"]["spec"]["replicas"] == 1
        assert "Deployment" not in objects
        assert "PodDisruptionBudget" not in objects

    def test_a_cluster_is_a_deployment_with_a_disruption_budget(self) -> None:
        objects = by_kind(render(CLUSTER, OLDEST))
        assert objects["Deployment"]["spec"]["replicas"] == 3
        assert objects["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1
        assert "StatefulSet" not in objects

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ({"publicUrl": ""}, "publicUrl"),
            ({"trustedProxies": []}, "trustedProxies"),
            ({"secretName": ""}, "secretName"),
            ({"cluster": {"nats": []}}, "cluster.nats"),
            ({"mode": "both"}, "mode"),
            ({"metrics": {"prot": 1}}, "prot"),
            ({"ingress": {"enabled": True}}, "ingress.host"),
        ],
    )
    def test_values_with_which_no_gateway_could_start_are_refused(
        self, change: dict[str, Any], named: str, tmp_path: Path
    ) -> None:
        told = helm("template", "home", str(CHART), "--values", write_values(tmp_path, {**CLUSTER, **change}))
        assert told.returncode == 1
        assert named in told.stderr


class TestPods:
    @pytest.mark.parametrize("name", SETS)
    def test_they_have_no_rights(self, name: str) -> None:
        pod = pod_of(render(SETS[name], OLDEST))
        user = read_dockerfile(ROOT / "deploy" / "container" / "Dockerfile")[-1].last("USER").rest
        assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == user
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }

    def test_each_mount_has_its_volume(self) -> None:
        for values in SETS.values():
            objects = render(values, OLDEST)
            pod = pod_of(objects)
            claims = [
                claim["metadata"]["name"]
                for one in objects
                if one["kind"] == "StatefulSet"
                for claim in one["spec"]["volumeClaimTemplates"]
            ]
            mounted = [mount["name"] for mount in pod["containers"][0]["volumeMounts"]]
            assert sorted(mounted) == sorted([*(volume["name"] for volume in pod["volumes"]), *claims])

    def test_a_pod_has_time_to_stop(self) -> None:
        pod = pod_of(render(NEEDED, OLDEST))
        settings = load_settings({}, {})
        sleep = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
        assert pod["terminationGracePeriodSeconds"] > sleep + 2 * settings.drain


class TestSettings:
    @pytest.mark.parametrize("name", SETS)
    def test_the_gateway_accepts_them(self, name: str, tmp_path: Path) -> None:
        objects = render(SETS[name], OLDEST)
        variables = by_kind(objects)["ConfigMap"]["data"]
        (text,) = [one["data"]["domogate.toml"] for one in objects if one["metadata"]["name"] == "home-domogate-file"]
        (file := tmp_path / "domogate.toml").write_text(text)
        secrets = {"domogate-database": "postgresql://gate:hush@postgres/gate", "domogate-nats-password": "hush"}
        for secret, value in secrets.items():
            (tmp_path / secret).write_text(value)
        image = read_dockerfile(ROOT / "deploy" / "container" / "Dockerfile")[-1].environment("")
        mounted = {mount["name"]: mount["mountPath"] for mount in pod_of(objects)["containers"][0]["volumeMounts"]}
        assert variables["DOMOGATE_CONFIG"] == f"{mounted['settings']}/domogate.toml"
        given = {**image, **variables, "DOMOGATE_CONFIG": str(file)}
        if "CREDENTIALS_DIRECTORY" in given:
            assert given["CREDENTIALS_DIRECTORY"] == mounted["credentials"]
            given["CREDENTIALS_DIRECTORY"] = str(tmp_path)
        settings = load_settings({}, given)
        check_exposure(settings)
        assert str(settings.data) == mounted["data"]
        assert (settings.cluster is not None) == (SETS[name].get("mode") == "cluster")
        assert settings.nats_password == ("hush" if settings.cluster else None)
        ports = {port["name"]: port["containerPort"] for port in pod_of(objects)["containers"][0]["ports"]}
        assert (ports["http"], ports.get("metrics")) == (settings.port, settings.metrics_port)

    def test_prometheus_finds_the_port_of_the_metrics(self) -> None:
        objects = by_kind(render(EVERYTHING, OLDEST))
        monitor, service = objects["ServiceMonitor"], objects["Service"]
        assert monitor["spec"]["endpoints"] == [{"port": "metrics", "interval": "30s"}]
        assert "metrics" in [port["name"] for port in service["spec"]["ports"]]
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert monitor["metadata"]["labels"]["release"] == "prometheus"


class TestValues:
    def test_each_has_a_rule(self) -> None:
        schema = json.loads((CHART / "values.schema.json").read_text())
        for leaf in list_leaves(yaml.safe_load((CHART / "values.yaml").read_text())):
            rule = schema
            for part in leaf.split("."):
                if "properties" not in rule:
                    break
                rule = rule["properties"][part]

    def test_one_without_a_comment_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"before b\.d in values\.yaml"):
            list_values("# First.\na: 1\nb:\n  # Second.\n  c: 2\n  d: 3\n")

    def test_the_page_has_each_with_its_default_and_its_meaning(self) -> None:
        (table,) = tables((ROOT / "docs" / "helm-values.md").read_text())
        shown = {row["value"].strip("`"): (row["default"].strip("`"), row["meaning"]) for row in table}
        leaves = list_leaves(yaml.safe_load((CHART / "values.yaml").read_text()))
        assert [leaf for leaf in leaves if not any(leaf == name or leaf.startswith(f"{name}.") for name in shown)] == []
        assert shown["replicas"] == ("3", "Number of gateways in the mode `cluster`. The mode `single` always has one gateway.")
        assert shown["metrics.serviceMonitor.interval"] == ('"30s"', "Time between two scrapes.")

    def test_the_readme_shows_an_installation_with_values_that_exist(self) -> None:
        named = re.findall(r"--set (\w[\w.]*)=", (CHART / "README.md").read_text())
        assert set(named) <= {value.name for value in list_values()}
        assert {"publicUrl", "trustedProxies"} <= set(named)

    @pytest.mark.parametrize(("number", "kind"), [(0, "StatefulSet"), (1, "Deployment")])
    def test_helm_accepts_the_installations_of_the_readme(self, number: int, kind: str) -> None:
        """Only `install` is replaced by `template`, which needs no Kubernetes."""
        commands = [words for block in read_blocks(CHART / "README.md") for words in read_commands(block.script)]
        installed = [words[2:] for words in commands if words[:2] == ["helm", "install"]]
        assert len(installed) == 2
        name, chart, *flags = installed[number]
        told = helm("template", name, str(ROOT / chart), *flags)
        assert told.returncode == 0, told.stderr
        assert kind in by_kind([document for document in yaml.safe_load_all(told.stdout) if document])
