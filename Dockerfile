# Images of Fogfall: `actor`, free of torch, plays and ingests; `learner` trains, on a GPU or without one.
#
#   scripts/images                                      builds both with docker, podman or buildah
#   docker build --target actor --tag fogfall-actor .   the same by hand
#
# FOGFALL_CUDA=0 makes a learner for the CPU only, an eighth in size. The last stages only copy: BASE_IMAGE may be any with
# glibc 2.36 or later, libstdc++ and certificates, such as gcr.io/distroless/cc-debian12:debug-nonroot, which has a shell.
# RUST_IMAGE may be one of your own with Debian's apt-get: with certificates of a proxy, or settings of cargo and pip for a
# mirror.
# To take newer bases, change tag and digest together (`docker buildx imagetools inspect TAG` shows the digest).
ARG RUST_IMAGE=docker.io/library/rust:1.95.0-slim-bookworm@sha256:d7482085ff5b415f84dba5647ae71606650bdef00db7aeb69f4b3d170c3e4082
ARG BASE_IMAGE=gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f

FROM ${RUST_IMAGE} AS toolchain
# Debian keeps one version of a package at a time: a pinned one could not be had any more after its next fix.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ python3-pip \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src

FROM toolchain AS libtorch
ARG FOGFALL_CUDA=1
COPY scripts/setup scripts/libtorch-cpu.txt scripts/libtorch-cuda.txt scripts/
ENV PIP_CACHE_DIR=/var/cache/pip
# It lies where it will lie in the image: the program remembers the place.
RUN --mount=type=cache,id=fogfall-pip,target=/var/cache/pip,sharing=locked \
    scripts/setup libtorch && mv .libtorch /opt/libtorch
ENV LIBTORCH=/opt/libtorch/torch

FROM toolchain AS actor-build
ARG TARGETARCH
COPY . .
RUN --mount=type=cache,id=fogfall-crates,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,id=fogfall-actor-${TARGETARCH},target=/src/target,sharing=locked \
    cargo build --locked --release --package actor \
    && scripts/image-files actor target/release /image

FROM libtorch AS learner-build
ARG FOGFALL_CUDA=1
COPY . .
RUN --mount=type=cache,id=fogfall-crates,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,id=fogfall-learner-${FOGFALL_CUDA},target=/src/target,sharing=locked \
    cargo build --locked --release --package learner \
    && scripts/image-files learner target/release /image

FROM ${BASE_IMAGE} AS actor
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="fogfall-actor" \
      org.opencontainers.image.description="Fogfall's self-play and ingest on a cluster" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=actor-build --chown=0:0 /image/files/ /
# The root is read-only on a cluster: /tmp is the one place to write to.
ENV HOME=/tmp
WORKDIR /tmp
USER 10001:10001
HEALTHCHECK NONE
ENTRYPOINT ["/usr/local/bin/actor"]

FROM ${BASE_IMAGE} AS learner
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="fogfall-learner" \
      org.opencontainers.image.description="Fogfall's training, on a GPU with CUDA 13 or on the CPU" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=learner-build --chown=0:0 /image/files/ /
# A new volume that is mounted there belongs to the user, and so do runs that are named by no path.
COPY --from=learner-build --chown=10001:10001 /image/volume/ /var/lib/fogfall/
# No NVIDIA_VISIBLE_DEVICES: a container sees the GPUs that it was given, and none where it asked for none.
ENV HOME=/tmp \
    LD_LIBRARY_PATH=/opt/libtorch/torch/lib \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    NVIDIA_REQUIRE_CUDA=cuda>=13.0
WORKDIR /var/lib/fogfall
USER 10001:10001
HEALTHCHECK NONE
ENTRYPOINT ["/usr/local/bin/learner"]
