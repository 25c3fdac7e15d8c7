"""What is written down twice says the same: README and values, versions, images, rules, dashboards, settings."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml

from chart import helm
from chart.images import BINARIES
from renderings import KUBERNETES, PROFILES, default_values, render, text

ROOT, CHART = helm.ROOT, helm.CHART
GENERATOR = helm.TOOLS / "node" / "node_modules" / ".bin" / "readme-generator"
DESCRIBED = yaml.safe_load((CHART / "Chart.yaml").read_text())


def generated(readme: str, folder: pathlib.Path) -> str:
    """The README with the table of values as the generator writes it."""
    path = folder / "README.md"
    path.write_text(readme)
    subprocess.run(
        [GENERATOR, "--values", CHART / "values.yaml", "--readme", path], check=True, capture_output=True, text=True
    )
    return path.read_text()


def test_the_readme_lists_the_values_as_they_are(tmp_path):
    """Made again by: .tools/node/node_modules/.bin/readme-generator -v helm/fogfall/values.yaml -r helm/fogfall/README.md"""
    readme = (CHART / "README.md").read_text()
    assert generated(readme, tmp_path) == readme


def test_a_value_that_is_spoken_of_otherwise_is_found(tmp_path):
    readme = (CHART / "README.md").read_text()
    changed = readme.replace("How many", "How few", 1)
    assert changed != readme and generated(changed, tmp_path) == readme


def test_the_chart_installs_the_program_of_its_own_version():
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    assert DESCRIBED["appVersion"] == workspace["version"]
    labels = render({}).manifests.component("actor").owner["metadata"]["labels"]
    assert labels["app.kubernetes.io/version"] == workspace["version"]


def test_the_chart_says_what_it_runs_on():
    assert DESCRIBED["kubeVersion"].startswith(f">={KUBERNETES[0]}")
    assert f"Kubernetes {KUBERNETES[0]}" in (CHART / "README.md").read_text()
    assert {"name", "version", "description", "keywords"} <= set(DESCRIBED)


def test_listed_images_are_those_that_are_installed():
    listed = {one["image"] for one in yaml.safe_load(DESCRIBED["annotations"]["artifacthub.io/images"])}
    everything = render({"nats": {"exporter": {"enabled": True}}, "redis": {"exporter": {"enabled": True}}})
    used = {container["image"] for one in everything.manifests.pods() for container in one.containers}
    assert {image for image in used if "fogfall-" not in image} == {
        image for image in listed if "fogfall-" not in image
    }


def test_profiles_are_those_that_the_readme_lists():
    readme = (CHART / "README.md").read_text()
    assert [name for name in PROFILES if f"`ci/{name}-values.yaml`" not in readme] == []


def nats_rights(config: str) -> dict[str, tuple[set[str], set[str]]]:
    """What each user may publish and what it may listen to."""
    users = re.findall(
        r'user: "?(\w+)"?, password: \S+\s+permissions: \{\s*publish: \[(.*?)\]\s*subscribe: \[(.*?)\]', config, re.DOTALL
    )
    return {name: (set(re.findall(r'"(.+?)"', may)), set(re.findall(r'"(.+?)"', hears))) for name, may, hears in users}


def test_users_of_nats_have_the_rights_that_the_docs_give_them():
    run = "duel"
    documented = nats_rights((ROOT / "docs" / "nats-permissions.conf").read_text().replace("RUN", run))
    documented["ingester"] = documented.pop("ingest")
    # Here each has an inbox of its own, as the docs advise.
    expected = {
        name: (may, {right.replace("_INBOX.", f"_INBOX_{name}.") for right in hears})
        for name, (may, hears) in documented.items()
    }
    assert set(expected) == {"learner", "ingester", "actor", "operator"}
    assert nats_rights(text({"run": {"id": run}})) == expected


def test_users_of_redis_have_the_rights_that_the_docs_give_them():
    def rights(words: list[str]) -> set[str]:
        return {word for word in words if word.startswith(("+", "-"))}

    documented = {}
    for line in (ROOT / "docs" / "redis.conf").read_text().splitlines():
        match line.split():
            case ["user", "fogfall" | "operator" as name, "on", _, *words]:
                documented[name] = rights(words)
    # It may look whether the server syncs as advised, which the docs leave to choice.
    documented["fogfall"].add("+config|get")
    arguments = render({}).manifests.component("redis").containers[0]["args"]
    starts = {arguments[i + 1]: i + 2 for i, word in enumerate(arguments) if word == "--user"}
    for name, expected in documented.items():
        words = arguments[starts[name] :]
        end = words.index("--user") if "--user" in words else len(words)
        assert rights([word for word in words[:end] if not word.startswith("--")]) == expected, name


def test_dashboards_arrive_byte_for_byte():
    files = {path.name: path.read_text() for path in (CHART / "dashboards").glob("*.json")}
    assert files
    rendered = {}
    for one in render({}).manifests.of("ConfigMap"):
        if "grafana_dashboard" in one["metadata"]["labels"]:
            rendered.update(one["data"])
            assert len(yaml.safe_dump(one)) < 2**20  # Objects are at most 1 MiB.
    assert rendered == {name: content.rstrip("\n") for name, content in files.items()} or rendered == files


def rules_of(values: dict) -> list[dict]:
    return [group for one in render(values).manifests.of("PrometheusRule") for group in one["spec"]["groups"]]


def test_rules_arrive_as_they_are():
    files = sorted((CHART / "rules").glob("*.yaml"))
    groups = [group for path in files for group in yaml.safe_load(path.read_text())["groups"]]
    assert groups and rules_of({"monitoring": {"rules": {"runbookUrl": ""}}}) == groups


def test_promtool_takes_the_rules_that_the_chart_renders(tmp_path):
    """With all that values add to them. What they say is tried in `test_rules.py`."""
    added = {"alertLabels": {"team": "games"}, "runbookUrl": "https://runbooks.example/"}
    groups = rules_of({"monitoring": {"rules": added}})
    alerts = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    assert len(alerts) > 10
    for rule in alerts:
        assert rule["labels"]["team"] == "games" and rule["labels"]["severity"]
        assert rule["annotations"]["runbook_url"].startswith("https://runbooks.example/")
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": groups}))
    promtool = shutil.which("promtool", path=helm.TOOLS / "bin") or shutil.which("promtool")
    said = subprocess.run([promtool, "check", "rules", path], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.skipif(not (BINARIES / "learner").exists(), reason="programs are not built")
def test_settings_of_the_schema_are_those_of_the_programs():
    check = [sys.executable, ROOT / "helm" / "settings-schema", BINARIES, "--check"]
    said = subprocess.run(check, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr


def test_the_package_holds_what_is_needed_and_no_more(tmp_path):
    helm.Helm(4).run("package", str(CHART), "--destination", str(tmp_path))
    (archive,) = tmp_path.glob("*.tgz")
    names = subprocess.run(["tar", "-tzf", archive], check=True, capture_output=True, text=True).stdout.split()
    assert {"fogfall/values.schema.json", "fogfall/README.md", "fogfall/templates/NOTES.txt"} <= set(names)
    assert any(name.startswith("fogfall/dashboards/") for name in names) and any(
        name.startswith("fogfall/rules/") for name in names
    )
    assert [name for name in names if "__pycache__" in name or name.endswith((".tmp", ".py"))] == []
    assert text({}, chart=str(archive)).replace("games", "") == text({}).replace("games", "")


def test_no_value_names_a_machine_of_ours():
    assert "localhost" not in yaml.safe_dump(default_values())
