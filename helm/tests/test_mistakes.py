"""Values that do not fit together are refused with a sentence that says which, and all of them at once."""

from __future__ import annotations

import re

import pytest

from chart import helm
from renderings import HELM3, HELM4, merged, nested, render, text

EXTERNAL_NATS = {"nats": {"enabled": False}, "externalNats": {"urls": ["nats://n:4222"]}}
EXTERNAL_REDIS = {"redis": {"enabled": False}, "externalRedis": {"url": "redis://r:6379"}}
BOTH_SCALERS = merged(nested("actor.autoscaling.enabled", True), nested("actor.keda.enabled", True))

# Values, and the sentence as it is said.
MISTAKES = [
    (
        {"run": {"rules": "x = 1", "existingRulesConfigMap": "rules"}},
        "run.rules and run.existingRulesConfigMap: give one of them.",
    ),
    (
        {"actor": {"replicas": 0}},
        "actor.replicas: without actors nothing is played. To pause a run, scale the deployment.",
    ),
    (BOTH_SCALERS, "actor.autoscaling and actor.keda: both would scale the actors; enable one of them."),
    (
        {"actor": {"autoscaling": {"enabled": True}, "resources": {"requests": {"cpu": None}}}},
        "actor.autoscaling: the share of CPU needs actor.resources.requests.cpu to be a share of.",
    ),
    (
        {"actor": {"settings": {"threads": 0}}},
        "actor.settings.threads: 0 is a thread for each core of the node, unless actor.resources.limits.cpu says how many "
        "CPUs an actor may use.",
    ),
    (
        {"actor": {"autoscaling": {"enabled": True, "minReplicas": 5, "maxReplicas": 4}}},
        "actor.autoscaling: minReplicas 5 is more than maxReplicas 4.",
    ),
    (
        {"actor": {"keda": {"enabled": True, "minReplicas": 5, "maxReplicas": 4}}},
        "actor.keda: minReplicas 5 is more than maxReplicas 4.",
    ),
    (
        {"ingester": {"replicas": 0}},
        "ingester.replicas: without ingesters nothing is stored. ingester.enabled=false lets the learner do it.",
    ),
    (
        {"actor": {"terminationGracePeriodSeconds": 20}},
        "actor.terminationGracePeriodSeconds: 20 s end before its setting stop_within_s, 20 s, lets it.",
    ),
    (
        {"ingester": {"settings": {"stop_within_s": 50}}},
        "ingester.terminationGracePeriodSeconds: 45 s end before its setting stop_within_s, 50 s, lets it.",
    ),
    (
        {"learner": {"resources": {"limits": {"nvidia.com/gpu": 1}}}},
        "learner.resources: give nvidia.com/gpu by learner.gpu.resource and learner.gpu.count, a whole number.",
    ),
    (
        {"learner": {"initFrom": "/weights/a.safetensors"}},
        "learner.initFrom: /weights/a.safetensors lies on no volume; mount one by learner.extraVolumes and "
        "learner.extraVolumeMounts.",
    ),
    (
        {"learner": {"resources": {"requests": {"memory": "4Gi"}}}},  # 4 GiB of window and 1 GiB shared are 5.
        "learner.resources.requests.memory: 4Gi is less than the setting window_bytes, 4GiB, with learner.sharedMemory, "
        "1Gi.",
    ),
    (
        {"learner": {"gpu": {"count": 0}, "settings": {"device": "cuda"}}},
        "learner.settings.device: cuda needs learner.gpu.count 1.",
    ),
    (
        {"learner": {"persistence": {"enabled": False, "existingClaim": "mine"}}},
        "learner.persistence: existingClaim mine is not used while enabled is false.",
    ),
    (
        {"redis": {"persistence": {"enabled": False, "existingClaim": "mine"}}},
        "redis.persistence: existingClaim mine is not used while enabled is false.",
    ),
    ({"nats": {"replicas": 2}}, "nats.replicas: 2 servers; 1, or 3 of which one may fail."),
    ({"bus": {"replicas": 3}}, "bus.replicas: 3 copies need as many servers; nats.replicas is 1."),
    ({"externalNats": {"urls": ["nats://n:4222"]}}, "externalNats.urls: they are not used while nats.enabled is true."),
    (
        {"nats": {"tls": {"enabled": True}}},
        "nats.tls: enabled, but nats.tls.existingSecret names no secret with tls.crt, tls.key and ca.crt.",
    ),
    (
        {"nats": {"persistence": {"size": "3Gi"}}},  # Nine tenths are 2.7 GiB; 2 and 1.07 are more.
        "nats.persistence.size: nine tenths of 3Gi must hold bus.bytes, 2GiB, and 1.1 GiB besides.",
    ),
    ({"nats": {"enabled": False}}, "nats.enabled is false: externalNats.urls must say where NATS is."),
    (
        merged(EXTERNAL_NATS, nested("externalNats.auth.method", "token")),
        "externalNats.auth: the method token needs existingSecret.",
    ),
    (
        merged(EXTERNAL_NATS, nested("externalNats.auth.existingSecret", "mine")),
        "externalNats.auth: existingSecret mine is not used by the method none.",
    ),
    (
        merged(EXTERNAL_NATS, nested("externalNats.tls.clientCertificate", True)),
        "externalNats.tls: a client's certificate needs existingSecret.",
    ),
    (
        {"learner": {"settings": {"log_bytes": "5GiB"}}},  # 6.25 GiB are more than 5 Gi, 25 GiB no more than 25 Gi.
        "redis.maxMemory: 5Gi is less than the replay log, the setting log_bytes 5GiB, and a quarter more.",
    ),
    (
        {"redis": {"resources": {"limits": {"memory": "5Gi"}, "requests": {"memory": "5Gi"}}}},
        "redis.resources.limits.memory: 5Gi must be more than redis.maxMemory, 5Gi: the server needs some besides rows.",
    ),
    (
        {"redis": {"persistence": {"size": "19Gi"}}},  # Five times 4 GiB are 20.
        "redis.persistence.size: 19Gi is less than five times the setting log_bytes, 4GiB: so large the append-only file "
        "gets before and while it is rewritten.",
    ),
    ({"externalRedis": {"url": "redis://r:6379"}}, "externalRedis.url: it is not used while redis.enabled is true."),
    (
        {"redis": {"tls": {"enabled": True}}},
        "redis.tls: enabled, but redis.tls.existingSecret names no secret with tls.crt, tls.key and ca.crt.",
    ),
    ({"redis": {"enabled": False}}, "redis.enabled is false: externalRedis.url must say where Redis is."),
    (
        merged(EXTERNAL_REDIS, nested("externalRedis.users.fogfall", "me")),
        "externalRedis.users: they need externalRedis.existingSecret with their passwords.",
    ),
]
# Of a release's name, which is no value.
RUN_ID = (
    'run.id: "with.dots" is not 1 to 64 letters, digits, - and _; the release\'s name stands for it where it is empty.'
)
# The schema refuses them first; these are the words for those who switch it off.
WITHOUT_SCHEMA = [
    ({"learner": {"settings": {"bus_bytes": "1GiB"}}}, "learner.settings.bus_bytes: give bus.bytes instead."),
    ({"learner": {"settings": {"bus_replicas": 1}}}, "learner.settings.bus_replicas: give bus.replicas instead."),
]


def said_against(values: dict, helm_: helm.Helm = HELM4, **call) -> list[str]:
    """The sentences that a refusal lists."""
    with pytest.raises(helm.Refused) as refusal:
        text(values, helm_, **call)
    return re.findall(r"^- (.*)$", str(refusal.value), re.MULTILINE)


@pytest.mark.parametrize(("values", "sentence"), MISTAKES, ids=[sentence[:50] for _, sentence in MISTAKES])
def test_it_is_refused_with_a_sentence(values, sentence):
    assert said_against(values) == [sentence]


def test_the_name_of_a_release_may_be_no_id_of_a_run():
    assert said_against({}, release="with.dots") == [RUN_ID]


@pytest.mark.parametrize(("values", "sentence"), WITHOUT_SCHEMA, ids=[sentence for _, sentence in WITHOUT_SCHEMA])
def test_what_the_schema_refuses_has_a_sentence_too(values, sentence):
    with pytest.raises(helm.Refused, match="schema"):
        render(values)
    assert said_against(values, skip_schema=True) == [sentence]


@pytest.mark.parametrize("helm_", [HELM3, HELM4], ids=["helm3", "helm4"])
def test_all_mistakes_are_said_at_once(helm_):
    values = merged({"actor": {"replicas": 0}}, {"ingester": {"replicas": 0}}, {"nats": {"tls": {"enabled": True}}})
    assert len(said_against(values, helm_)) == 3


def test_every_sentence_of_the_chart_is_tried():
    written = re.findall(r"^- (.*)$", (helm.CHART / "templates" / "validate.yaml").read_text(), re.MULTILINE)
    assert len(written) > 25
    tried = [sentence for _, sentence in MISTAKES + WITHOUT_SCHEMA] + [RUN_ID]
    assert [line for line in written if not any(re.fullmatch(pattern(line), sentence) for sentence in tried)] == []


def pattern(line: str) -> str:
    """What a line of the template may come out as."""
    return ".*".join(re.escape(part) for part in re.split(r"\{\{.*?\}\}", line))
