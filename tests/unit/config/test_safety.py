"""The safety rule: what a configuration may do to permissions."""

from typing import Any

import pytest

from cuekit.agents.registry import KINDS
from cuekit.config import safety
from cuekit.config.effective import Effective, Key, Setting, Settings, effective_from

SKIP = "dangerously_skip_permissions"


def configured(**values: Any) -> Effective:
    """Settings given as `codex__permissions`, `codex__options__sandbox`, `submit__mode`."""
    settings = flat(**values)
    sources = {".".join(key): setting.source for key, setting in settings.items()}
    return Effective(**effective_from(settings), settings=settings, sources=sources)


def flat(**values: Any) -> dict[Key, Setting]:
    settings: dict[Key, Setting] = {}
    for name, value in values.items():
        key = tuple(part.replace("_code", "-code") for part in name.split("__"))
        key = key if key[0] in ("submit", "multiplexer") else ("adapters", *key)
        settings[key] = Setting(value, f"FILE:{'.'.join(key)}")
    return settings


def applied(kind: str, effective: Effective, **caller: Any) -> dict[str, Any]:
    return safety.apply({}, kind, effective, caller_options=caller)[0]


def test_prompt_forces_the_agent_to_ask() -> None:
    assert applied("codex", configured(codex__permissions="prompt")) == {SKIP: False}


def test_bypass_forces_nothing() -> None:
    assert applied("codex", configured(codex__permissions="bypass")) == {}


def test_bypass_does_not_undo_what_the_caller_or_the_options_hold_back() -> None:
    effective = configured(codex__permissions="bypass", codex__options__sandbox="read-only")
    assert applied("codex", effective) == {"sandbox": "read-only"}
    assert applied("codex", effective, **{SKIP: False}) == {"sandbox": "read-only", SKIP: False}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "codex"])
def test_a_block_of_codex_does_not_affect_another_kind(kind: str) -> None:
    effective = configured(codex__permissions="prompt", codex__options__sandbox="read-only")
    assert safety.apply({}, kind, effective, caller_options={}) == ({}, {})


@pytest.mark.parametrize("kind", ["Codex", "CODEX", "codex ", "cod", "codex-cli"])
def test_kinds_match_exactly(kind: str) -> None:
    assert applied(kind, configured(codex__permissions="prompt")) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_prompt_forces_every_kind_that_it_names(kind: str) -> None:
    settings: dict[Key, Setting] = {("adapters", kind, "permissions"): Setting("prompt", "FILE:1")}
    effective = Effective(**effective_from(settings))
    assert applied(kind, effective) == {SKIP: False}


def test_another_option_of_the_caller_does_not_cancel_the_rule() -> None:
    effective = configured(claude_code__permissions="prompt")
    assert applied("claude-code", effective, mode="batch") == {"mode": "batch", SKIP: False}


def test_the_callers_own_word_on_that_option_counts_and_is_warned_of() -> None:
    effective = configured(claude_code__permissions="prompt")
    caller = {SKIP: True}
    assert safety.apply({}, "claude-code", effective, caller_options=caller) == (caller, {})
    assert safety.caller_warnings("claude-code", effective, caller) == (
        f"adapter_options.{SKIP}: true was asked for in spite of permissions: prompt "
        "(FILE:adapters.claude-code.permissions)",
    )
    assert safety.caller_warnings("codex", effective, caller) == ()
    assert safety.caller_warnings("claude-code", effective, {SKIP: False}) == ()


def test_what_was_applied_is_told_with_its_source() -> None:
    effective = configured(
        codex__permissions="prompt", codex__options__sandbox="read-only", submit__mode="batch"
    )
    options, told = safety.apply({}, "codex", effective, caller_options={})
    assert options == {"sandbox": "read-only", "mode": "batch", SKIP: False}
    assert told == {
        "adapter_options.sandbox": {
            "value": "read-only",
            "source": "FILE:adapters.codex.options.sandbox",
        },
        "adapter_options.mode": {"value": "batch", "source": "FILE:submit.mode"},
        f"adapter_options.{SKIP}": {"value": False, "source": "FILE:adapters.codex.permissions"},
    }


def test_options_lie_below_those_of_a_role_and_those_of_the_caller() -> None:
    effective = configured(codex__options__sandbox="read-only", codex__options__mode="batch")
    role = {"sandbox": "workspace-write", "mode": "batch"}
    options, told = safety.apply(role, "codex", effective, caller_options={"mode": "interactive"})
    assert options == {"sandbox": "workspace-write", "mode": "interactive"}
    assert told == {}


def test_prompt_overrides_a_role_but_not_a_caller() -> None:
    effective = configured(codex__permissions="prompt")
    options, _ = safety.apply({SKIP: True}, "codex", effective, caller_options={})
    assert options == {SKIP: False}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("codex", "sandbox", "danger-full-access"),
        ("codex", "ask_for_approval", "never"),
        ("codex", "ask_for_approval", "on-failure"),
        ("gemini", "approval_mode", "yolo"),
        ("gemini", "approval_mode", "auto_edit"),
    ],
)
def test_prompt_takes_away_configured_options_that_would_not_ask(
    kind: str, name: str, value: str
) -> None:
    settings = {
        ("adapters", kind, "permissions"): Setting("prompt", "FILE:1"),
        ("adapters", kind, "options", name): Setting(value, "FILE:2"),
    }
    effective = Effective(
        **effective_from(settings), sources={f"adapters.{kind}.permissions": "FILE:1"}
    )
    options, told = safety.apply({}, kind, effective, caller_options={})
    assert options == {SKIP: False}
    assert told[f"adapter_options.{name}"] == {"value": None, "source": "FILE:1"}
    kept = safety.apply({}, kind, effective, caller_options={name: value})[0]
    assert kept[name] == value
    assert len(safety.caller_warnings(kind, effective, {name: value})) == 1


def test_prompt_makes_codex_ask_in_a_sandbox_too() -> None:
    """A sandbox alone is launched with `-a never`."""
    effective = configured(codex__permissions="prompt")
    assert applied("codex", effective, sandbox="workspace-write") == {
        "sandbox": "workspace-write",
        "ask_for_approval": "on-request",
        SKIP: False,
    }
    said = {"sandbox": "workspace-write", "ask_for_approval": "never"}
    assert applied("codex", effective, **said) == {**said, SKIP: False}
    batch = {"sandbox": "workspace-write", "mode": "batch"}
    assert applied("codex", effective, **batch) == {**batch, SKIP: False}
    assert applied("codex", configured(), sandbox="workspace-write") == {
        "sandbox": "workspace-write"
    }


UNTRUSTED_MAY = flat(
    submit__agent_kind="codex",
    submit__model="gpt-5",
    submit__mode="interactive",
    submit__timeout=60.0,
    submit__keep=True,
    submit__session="nightly",
    multiplexer__socket_name="work",
    multiplexer__width=100,
    codex__permissions="prompt",
    codex__options__sandbox="workspace-write",
    codex__options__ask_for_approval="on-request",
    gemini__options__approval_mode="plan",
    antigravity__options__sandbox=True,
    grok__options__dangerously_skip_permissions=False,
    pi__options__mode="interactive",
)
UNTRUSTED_MAY_NOT = [
    flat(submit__agent_kind="shell"),
    flat(submit__mode="batch"),
    flat(multiplexer__socket_path="/tmp/other"),
    flat(codex__permissions="bypass"),
    flat(codex__command=("/tmp/evil",)),
    flat(codex__options__sandbox="danger-full-access"),
    flat(codex__options__sandbox="unheard-of"),
    flat(codex__options__ask_for_approval="never"),
    flat(codex__options__dangerously_skip_permissions=True),
    flat(codex__options__dangerously_skip_permissions="false"),
    flat(codex__options__dangerously_skip_permissions=0),
    flat(codex__options__mode="batch"),
    flat(codex__options__anything_else="x"),
    flat(gemini__options__approval_mode="yolo"),
    flat(gemini__options__approval_mode="auto_edit"),
    flat(gemini__options__sandbox="read-only"),
    flat(antigravity__options__sandbox=False),
    flat(antigravity__options__sandbox=1),
    flat(jcode__options__provider_profile="elsewhere"),
]


def test_an_untrusted_file_may_hold_agents_back() -> None:
    assert safety.split_untrusted(UNTRUSTED_MAY, {}) == (UNTRUSTED_MAY, {})


@pytest.mark.parametrize("setting", UNTRUSTED_MAY_NOT, ids=lambda one: ".".join(next(iter(one))))
def test_an_untrusted_file_may_not_widen(setting: Settings) -> None:
    assert safety.split_untrusted({**UNTRUSTED_MAY, **setting}, {})[1] == setting


@pytest.mark.parametrize(
    ("users", "setting"),
    [
        (
            flat(codex__options__sandbox="read-only"),
            flat(codex__options__sandbox="workspace-write"),
        ),
        (flat(codex__permissions="prompt"), flat(codex__options__sandbox="workspace-write")),
        (
            flat(codex__options__ask_for_approval="on-request"),
            flat(codex__options__sandbox="workspace-write"),
        ),
        (
            flat(codex__options__dangerously_skip_permissions=False),
            flat(codex__options__sandbox="workspace-write"),
        ),
        (
            flat(codex__options__ask_for_approval="untrusted"),
            flat(codex__options__ask_for_approval="on-request"),
        ),
        (
            flat(gemini__options__approval_mode="plan"),
            flat(gemini__options__approval_mode="default"),
        ),
    ],
)
def test_an_untrusted_file_may_not_go_further_than_the_users_own(
    users: Settings, setting: Settings
) -> None:
    assert safety.split_untrusted(setting, users) == ({}, setting)
    assert safety.split_untrusted(setting, {}) == (setting, {})


def test_an_untrusted_file_may_go_less_far_than_the_users_own() -> None:
    users = flat(codex__permissions="prompt", codex__options__sandbox="workspace-write")
    setting = flat(codex__options__sandbox="read-only")
    assert safety.split_untrusted(setting, users) == (setting, {})
