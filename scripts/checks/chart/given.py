"""What an operator makes before the chart is installed, where values name Secrets of their own: passwords and certificates."""

from __future__ import annotations

import pathlib
import secrets
import subprocess
import tempfile

from .manifests import Manifests
from .resolve import dns_names

CERTIFICATE = ("ca.crt", "tls.crt", "tls.key")


def make_secrets(manifests: Manifests, namespace: str) -> dict[tuple[str, str], dict[str, bytes]]:
    """Secrets that pods use and the release has not, by kind and name. One whose authority is asked for is a certificate."""
    wanted: dict[str, set[str]] = {}
    for one in manifests.pods():
        for kind, name, keys, optional in one.uses():
            if kind == "Secret" and not optional and manifests.find(kind, name) is None:
                wanted.setdefault(name, set()).update(keys or [])
    made = {}
    certificate = None
    for name, keys in wanted.items():
        if "ca.crt" in keys:
            certificate = certificate or make_certificate(server_names(manifests, namespace))
            made["Secret", name] = certificate
        else:
            made["Secret", name] = {key: secrets.token_hex(16).encode() for key in keys}
    return made


def server_names(manifests: Manifests, namespace: str) -> list[str]:
    """Names that clients call servers by; those of single pods of headless services by a wildcard."""
    names = []
    for service in manifests.of("Service"):
        name = service["metadata"]["name"]
        names += dns_names(name, namespace) + [f"*.{name}"]
    return names


def make_certificate(names: list[str]) -> dict[str, bytes]:
    """An authority of its own, and a certificate for servers and clients, by openssl."""
    with tempfile.TemporaryDirectory(prefix="fogfall-certificate-") as place:
        folder = pathlib.Path(place)

        def openssl(*words: str) -> None:
            subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

        key = ("-newkey", "rsa:2048", "-nodes")
        openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=authority", "-days", "2")
        openssl("req", *key, "-keyout", "tls.key", "-out", "request", "-subj", "/CN=fogfall")
        alternatives = ",".join(["IP:127.0.0.1", *(f"DNS:{name}" for name in names)])
        (folder / "extensions").write_text(f"subjectAltName={alternatives}\nextendedKeyUsage=serverAuth,clientAuth\n")
        signing = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "extensions", "-days", "2")
        openssl("x509", "-req", "-in", "request", *signing, "-out", "tls.crt")
        return {name: (folder / name).read_bytes() for name in CERTIFICATE}
