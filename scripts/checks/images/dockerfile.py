"""What Dockerfile says: stages, instructions, and what its last stages copy. No engine: only what ours uses is understood."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[3]
PATH = ROOT / "Dockerfile"


@dataclasses.dataclass(frozen=True)
class Instruction:
    """`COPY --from=a b c` is keyword `COPY`, flags `{"from": "a"}` and words `["b", "c"]`."""

    keyword: str
    flags: dict[str, str]
    words: list[str]


@dataclasses.dataclass(frozen=True)
class Stage:
    name: str
    base: str
    instructions: list[Instruction]

    def all(self, keyword: str) -> list[Instruction]:
        return [one for one in self.instructions if one.keyword == keyword]

    def last(self, keyword: str) -> list[str]:
        """The words of the last such instruction, which is the one that holds; none if there is none."""
        found = self.all(keyword)
        return found[-1].words if found else []

    def pairs(self, keyword: str) -> dict[str, str]:
        """All `key=value` of an instruction such as ENV."""
        words = [word for one in self.all(keyword) for word in one.words]
        return dict(word.partition("=")[::2] for word in words)

    @property
    def user(self) -> tuple[int, int]:
        uid, gid = self.last("USER")[0].split(":")
        return int(uid), int(gid)

    @property
    def entrypoint(self) -> list[str]:
        return json.loads(" ".join(self.last("ENTRYPOINT")))


def _lines(text: str) -> list[str]:
    """The instructions, a line each. A comment within one ends nothing."""
    kept = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(kept))
    return [line.strip() for line in joined.splitlines() if line.strip()]


def _instruction(line: str) -> Instruction:
    keyword, _, rest = line.partition(" ")
    flags = {}
    while match := re.match(r"--([\w-]+)=(\S+)\s*", rest):
        flags[match[1]] = match[2]
        rest = rest[match.end() :]
    plain = keyword.upper() in ("RUN", "ENTRYPOINT", "CMD")
    return Instruction(keyword.upper(), flags, rest.split() if plain else shlex.split(rest))


def parse(text: str) -> dict[str, Stage]:
    """The stages by their names, with the defaults of arguments in place of those in FROM."""
    given: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    stage = None
    for line in _lines(text):
        one = _instruction(line)
        if one.keyword == "FROM":
            base, _, name = one.words
            stage = Stage(name, re.sub(r"\$\{(\w+)\}", lambda match: given[match[1]], base), [])
            stages[name] = stage
        elif stage is None:
            given |= dict(word.partition("=")[::2] for word in one.words)
        else:
            stage.instructions.append(one)
    return stages


def stages() -> dict[str, Stage]:
    return parse(PATH.read_text())


def targets(of: dict[str, Stage]) -> list[Stage]:
    """The stages that are images: no other stage builds on them or copies from them."""
    used = {stage.base for stage in of.values()} | {copy.flags.get("from") for s in of.values() for copy in s.all("COPY")}
    return [stage for stage in of.values() if stage.name not in used]


def laid_out_by(stage: Stage) -> tuple[str, pathlib.PurePath]:
    """The target and the folder of the call of `scripts/image-files` that a stage ends with."""
    words = stage.last("RUN")
    if "scripts/image-files" not in words:
        raise ValueError(f"stage {stage.name} does not end with scripts/image-files: only an engine can build it")
    _, target, _, out = words[words.index("scripts/image-files") :]
    return target, pathlib.PurePath(out)
