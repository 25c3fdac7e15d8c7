"""Passwords are drawn at the first installation and kept by every upgrade. The chart looks for them in the cluster, so there is one
here: an API server that knows which kinds there are and answers with the objects that it was given."""

from __future__ import annotations

import base64
import http.server
import json
import threading

import pytest
import yaml
from chart import helm

RELEASE, NAMESPACE = "run", "games"


class Cluster:
    """Answers questions about kinds and objects until it is closed; `objects` are by path."""

    def __init__(self, kinds: set[tuple[str, str]]):
        self.objects: dict[str, dict] = {}
        versions = sorted({version for version, _ in kinds})
        grouped = [version.partition("/")[::2] for version in versions if "/" in version]
        self._answers = {
            "/version": {"major": "1", "minor": "37", "gitVersion": "v1.37.0"},
            "/api": {"kind": "APIVersions", "versions": [version for version in versions if "/" not in version]},
            "/apis": {
                "kind": "APIGroupList",
                "groups": [
                    {"name": group, "versions": [{"groupVersion": f"{group}/{version}", "version": version}]}
                    for group, version in grouped
                ],
            },
        }
        for version in versions:
            resources = [
                {"name": plural(kind), "kind": kind, "namespaced": True, "verbs": ["get"]} for of, kind in kinds if of == version
            ]
            self._answers[api(version)] = {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _handler(self):
        cluster = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.partition("?")[0]
                found = cluster._answers.get(path) or cluster.objects.get(path)
                body = json.dumps(found or {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                """Says nothing."""

        return Handler

    def access(self) -> str:
        """A file for `--kubeconfig`."""
        cluster = {"server": f"http://127.0.0.1:{self._server.server_port}"}
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "here", "cluster": cluster}],
                "contexts": [{"name": "here", "context": {"cluster": "here", "user": "nobody"}}],
                "users": [{"name": "nobody", "user": {}}],
                "current-context": "here",
            }
        )

    def keep(self, objects: list[dict]):
        """Holds objects as an installation leaves them."""
        for one in objects:
            metadata = one["metadata"]
            owner = {"meta.helm.sh/release-name": RELEASE, "meta.helm.sh/release-namespace": NAMESPACE}
            kept = {**one, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **owner}}}
            self.objects[f"{api(one['apiVersion'])}/namespaces/{NAMESPACE}/{plural(one['kind'])}/{metadata['name']}"] = kept

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def api(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def plural(kind: str) -> str:
    return kind.lower()[:-1] + "ies" if kind.endswith("y") else kind.lower() + "s"


@pytest.fixture(params=[3, 4], ids=["helm 3", "helm 4"])
def install(request, tmp_path):
    """Renders the chart with a look into a cluster; `install.cluster` is it."""
    program = helm.Helm(request.param)
    rendered = yaml.safe_load_all(program.run("template", RELEASE, str(helm.CHART), "--namespace", NAMESPACE))
    cluster = Cluster({(one["apiVersion"], one["kind"]) for one in rendered if one})
    access = tmp_path / "access.yaml"
    access.write_text(cluster.access())

    def install(*arguments: str) -> list[dict]:
        words = ["--namespace", NAMESPACE, "--kubeconfig", str(access), "--dry-run=server", "--disable-openapi-validation"]
        return [one for one in yaml.safe_load_all(program.run("template", RELEASE, str(helm.CHART), *words, *arguments)) if one]

    install.cluster = cluster
    yield install
    cluster.close()


def passwords(objects: list[dict]) -> dict[tuple[str, str], str]:
    """By secret and key."""
    return {
        (one["metadata"]["name"], key): base64.b64decode(value).decode()
        for one in objects
        if one["kind"] == "Secret"
        for key, value in one["data"].items()
    }


def pods(objects: list[dict]) -> dict[str, dict]:
    """By workload, the template of its pods."""
    return {one["metadata"]["name"]: one["spec"]["template"] for one in objects if "template" in one.get("spec", {})}


def test_an_upgrade_keeps_what_was_drawn_and_starts_no_pod_anew(install):
    first = install()
    assert len(passwords(first)) == 8 == len(set(passwords(first).values()))  # 5 of NATS and 3 of Redis, all different
    assert all(len(password) == 32 for password in passwords(first).values())
    install.cluster.keep(first)
    second = install()
    assert passwords(second) == passwords(first)
    assert pods(second) == pods(first)


def test_another_installation_draws_others(install):
    first, other = passwords(install()), passwords(install())
    assert first.keys() == other.keys()
    assert not set(first.values()) & set(other.values())


def test_a_password_that_is_given_replaces_one_that_was_drawn(install):
    first = install()
    install.cluster.keep(first)
    second = install("--set", "redis.auth.passwords.operator=mine")
    changed = {key for key, password in passwords(second).items() if password != passwords(first)[key]}
    assert changed == {("run-fogfall-redis", "operator-password")}
    assert passwords(second)["run-fogfall-redis", "operator-password"] == "mine"
    # Those who read it are started anew; actors know nothing of Redis, and NATS neither.
    restarted = {name for name, template in pods(second).items() if template != pods(first)[name]}
    assert restarted == {"run-fogfall-redis", "run-fogfall-learner", "run-fogfall-ingester"}


def test_a_key_that_an_older_version_did_not_have_is_drawn_and_the_others_are_kept(install):
    first = install()
    for one in first:
        if one["kind"] == "Secret":
            one["data"].pop("operator-password")
    install.cluster.keep(first)
    second = passwords(install())
    assert second.items() > passwords(first).items()
    assert {name for name, key in second.keys() - passwords(first).keys()} == {"run-fogfall-nats", "run-fogfall-redis"}
