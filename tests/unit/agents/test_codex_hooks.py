"""Hooks of codex for one launch: the command line, and the trust that goes with it."""

import shlex
import tomllib

import pytest

from cuekit.agents import codex_hooks

PATHS = [
    "/home/user/.cuekit/run/t_abcd1234/hook",
    '/it\'s a "path" with \\ and $x `y` ; #é',
    "/line\nbreak/hook",
    "/del\x7f/tab\t/hook",
]


def settings(arguments: tuple[str, ...]) -> dict[str, object]:
    """What codex makes of the options: each a TOML assignment."""
    assert arguments[::2] == ("-c",) * (len(arguments) // 2)
    found = {}
    for option in arguments[1::2]:
        key, _, value = option.partition("=")
        found[key] = tomllib.loads(f"value = {value}")["value"]
    return found


@pytest.mark.parametrize("path", PATHS)
def test_each_event_runs_the_program_with_its_name(path: str) -> None:
    found = settings(codex_hooks.hook_arguments(path))
    for event in codex_hooks.EVENTS:
        groups = found[f"hooks.{event}"]
        assert isinstance(groups, list)
        [hook] = groups[0]["hooks"]
        assert hook["type"] == "command"
        assert shlex.split(hook["command"]) == [path, event]


@pytest.mark.parametrize("path", PATHS)
def test_each_hook_has_its_trust(path: str) -> None:
    states = settings(codex_hooks.hook_arguments(path))["hooks.state"]
    assert states == {
        f"/<session-flags>/config.toml:{name}:0:0": {
            "trusted_hash": codex_hooks.trusted_hash(event, codex_hooks.hook_command(path, event))
        }
        for event, name in codex_hooks.EVENTS.items()
    }


RECORDED = {
    "SessionStart": "b8ab9bcca7f9703fe42f7fa6538c71198075fe846828f64e92d672caa493ad7b",
    "UserPromptSubmit": "6703325f87c942f78bdb68297cbf3da5539ab72ab66969c2914c7762952db6db",
    "PreToolUse": "6bea208501f7aecaaaa89f383bebb172a6c6ba8e8bf8ea76188f2a7e834bc1bc",
    "PermissionRequest": "47b1c2f35181311a281d24c31edebcb257164c181d34510101f89a45103e2089",
    "PostToolUse": "26219c5f80b4753396cdca27275a0820a7c4842cf98341f0fa70ff381ded515a",
    "Stop": "2c5a52fb8c89a146726b71dca1aae6f64f5f531f5dfcb1289ac25cc38060b489",
    "Interrupt": "9c69b5971688e4bc358d87161ca5c802daf9dfdfd18776fe6f0af564167a4ef9",
    "SessionEnd": "016d4caebc93e6ea204167ba4e374ccd53c1795dab4fcf54158aad49683c68a7",
}
"""What codex 0.171.0 wrote after its own `Trust all` for hooks of /h/hook, as did 0.133.0 and
0.141.0 for the first six."""


def test_the_hashes_are_those_that_codex_writes_itself() -> None:
    ours = {
        event: codex_hooks.trusted_hash(event, codex_hooks.hook_command("/h/hook", event))
        for event in codex_hooks.EVENTS
    }
    assert ours == {event: f"sha256:{digest}" for event, digest in RECORDED.items()}
