"""The commands of docs/kubernetes.md fit the chart: names, ports, keys, values and paths are those that it renders."""

import re
import shlex

import kubernetes_validate
import pytest
import yaml

from chart.helm import CHART, CUSTOM_RESOURCES, ROOT, Call, Helm

PAGE = (ROOT / "docs" / "kubernetes.md").read_text()
RELEASE = {"release": "duel", "namespace": "duel"}
PROFILES = ("laptop", "gpu", "large")


def profile(name):
    return f"helm/fogfall/ci/{name}-values.yaml"


def render(*values, sets=()):
    call = Call(values=tuple(str(ROOT / one) for one in values), sets=tuple(sets), api_versions=CUSTOM_RESOURCES, **RELEASE)
    return [one for one in yaml.safe_load_all(Helm(4).render(call)) if one]


@pytest.fixture(scope="module")
def rendered():
    return render("helm/fogfall/ci/default-values.yaml")


def named(objects, kind, name):
    (found,) = [one for one in objects if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


def blocks(language=""):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return [text for of, text in found if of == language]


def commands(program):
    lines = "\n".join(blocks()).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.startswith(program + " ")]


def test_every_object_that_is_named_exists(rendered):
    names = {one["metadata"]["name"] for one in rendered}
    for one in rendered:
        if one["kind"] == "StatefulSet":
            pod = f"{one['metadata']['name']}-0"
            names |= {pod} | {f"{claim['metadata']['name']}-{pod}" for claim in one["spec"].get("volumeClaimTemplates", [])}
    found = set(re.findall(r"\b(?:data-)?duel-fogfall-[\w-]*\w", PAGE))
    assert len(found) >= 9
    assert found <= names


def test_ports_that_are_forwarded_are_those_of_the_services(rendered):
    forwards = [[word for word in line if word != "&"][-2:] for line in commands("kubectl") if "port-forward" in line]
    assert len(forwards) == 4
    for target, ports in forwards:
        service = named(rendered, "Service", target.removeprefix("service/"))
        assert int(ports.split(":")[1]) in [port["port"] for port in service["spec"]["ports"]]


# Of no meaning to a rendering.
ONLY_CLUSTERS = {"--create-namespace", "--reset-then-reuse-values"}


def test_every_installation_and_upgrade_renders(tmp_path):
    lines = [line for line in commands("helm") if line[1] in ("install", "upgrade")]
    assert len(lines) >= 7
    (tmp_path / "my-rules.toml").write_text("# somebody's rules")
    for line in lines:
        assert line[3] == "helm/fogfall"
        words = [word for word in line[2:] if word not in ONLY_CLUSTERS]
        words = [word.replace("my-rules.toml", str(tmp_path / "my-rules.toml")) for word in words]
        words = [str(ROOT / word) if word.startswith("helm/fogfall") else word for word in words]
        assert "kind: StatefulSet" in Helm(4).run("template", *words), line


@pytest.mark.parametrize("one", sorted(set(re.findall(r"`--set ([^`]+)`", PAGE))))
def test_settings_that_are_named_in_passing_render(one):
    sets = one.replace("NAME", "fast").split(" --set ")
    assert render(profile("gpu"), sets=sets)


def test_a_gpu_node_without_labels_and_classes_is_asked_for_neither():
    sets = ["learner.runtimeClassName=", "learner.nodeSelector=null"]
    assert f"--set {' --set '.join(sets)}" in PAGE
    learner = named(render(profile("gpu"), sets=sets), "StatefulSet", "duel-fogfall-learner")["spec"]["template"]["spec"]
    assert "runtimeClassName" not in learner and "nodeSelector" not in learner
    with_both = named(render(profile("gpu")), "StatefulSet", "duel-fogfall-learner")["spec"]["template"]["spec"]
    assert with_both["runtimeClassName"] == "nvidia" and with_both["nodeSelector"] == {"nvidia.com/gpu.present": "true"}


def test_the_operator_finds_his_passwords_and_his_inbox(rendered):
    for name in ("duel-fogfall-nats", "duel-fogfall-redis"):
        assert "operator-password" in named(rendered, "Secret", name)["data"]
    test = named(rendered, "Pod", "duel-fogfall-test")["spec"]["containers"][0]
    assert "--nats-inbox=_INBOX_operator" in test["args"] and "--nats-inbox _INBOX_operator" in PAGE
    users = {one["name"]: one.get("value") for one in test["env"]}
    assert users["FOGFALL_NATS_USER"] == users["FOGFALL_REDIS_USER"] == "operator"


def test_the_pod_that_reads_files_is_valid_restricted_and_mounts_the_learners_volume(rendered):
    (text,) = blocks("yaml")
    pod = yaml.safe_load(text)
    kubernetes_validate.validate(pod, "1.37.0", strict=True)
    learner = named(rendered, "StatefulSet", "duel-fogfall-learner")["spec"]["template"]["spec"]
    assert pod["spec"]["securityContext"] == learner["securityContext"]
    assert pod["spec"]["tolerations"] == learner["tolerations"]
    container = pod["spec"]["containers"][0]["securityContext"]
    of_learner = learner["containers"][0]["securityContext"]
    assert container == {key: of_learner[key] for key in container}
    assert {"allowPrivilegeEscalation", "capabilities", "readOnlyRootFilesystem"} == set(container)
    (near,) = pod["spec"]["affinity"]["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    labels = named(rendered, "StatefulSet", "duel-fogfall-learner")["spec"]["selector"]["matchLabels"]
    assert near["podAffinityTerm"]["labelSelector"]["matchLabels"].items() <= labels.items()
    # The run's folder, below where either mounts the volume.
    (place,) = [one["mountPath"] for one in learner["containers"][0]["volumeMounts"] if one["name"] == "data"]
    assert f"--run-dir={place}/duel" in learner["containers"][0]["args"]
    assert "tar -C /data -cf - duel" in PAGE


def test_dashboards_are_found_by_the_label_that_the_page_names(rendered):
    found = [one for one in rendered if one["metadata"].get("labels", {}).get("grafana_dashboard") == "1"]
    assert len(found) == 4
    assert "--selector grafana_dashboard=1" in PAGE


def gib(quantity):
    number, unit = re.fullmatch(r"(\d+)(Gi|Mi)", quantity).groups()
    return f"{number} {unit}B"


def test_the_table_of_sizes_is_that_of_the_profiles():
    rows = {}
    for line in PAGE[PAGE.index("## How large") :].splitlines():
        if line.startswith("| ") and line.count("|") == 5:
            name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            rows.setdefault(name, cells)
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    for column, name in enumerate(PROFILES):
        values = merged(defaults, yaml.safe_load((ROOT / profile(name)).read_text()))
        actor, learner, nats, redis = (values[one] for one in ("actor", "learner", "nats", "redis"))
        cell = {row: cells[column] for row, cells in rows.items()}
        threads = actor["settings"]["threads"]
        assert cell["actors"] == f"{actor['replicas']:,} of {threads}" + (" thread" if name == "laptop" else "")
        cpu = str(actor["resources"]["requests"]["cpu"])
        cores = int(cpu[:-1]) / 1000 if cpu.endswith("m") else float(cpu)
        assert cell["CPU asked for, actors"] == f"{actor['replicas'] * cores:,.0f}"
        asked = learner["resources"]["requests"]
        assert cell["learner"].startswith(f"{asked['cpu']} CPU") and gib(asked["memory"]) in cell["learner"]
        assert ("1 GPU" in cell["learner"]) == (learner["gpu"]["count"] == 1)
        assert cell["NATS"].startswith(f"{nats['replicas']} server")
        assert gib(nats["resources"]["requests"]["memory"]) in cell["NATS"]
        assert cell["Redis, memory for rows"] == gib(redis["maxMemory"])
        sizes = [int(values[one]["persistence"]["size"][:-2]) for one in ("learner", "nats", "redis")]
        times = "3 times " if nats["replicas"] == 3 else ""
        assert cell["volumes: learner, NATS, Redis"] == f"{sizes[0]}, {times}{sizes[1]}, {sizes[2]} GiB"


def merged(base, over):
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return base | {key: merged(base.get(key), value) for key, value in over.items()}


def test_links_within_the_page_lead_somewhere():
    heads = re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    heads = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
    links = re.findall(r"\]\(#([^)]+)\)", PAGE)
    assert links and set(links) <= heads


def test_scripts_that_are_called_are_there():
    called = {word for word in re.findall(r"scripts/[\w-]+", PAGE)}
    assert called and all((ROOT / one).exists() for one in called)
