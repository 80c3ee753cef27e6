"""The throwaway configuration of an agent: provider on loopback, made-up keys, nothing to ask.

Settings as codex 0.133.0 to 0.171.0 and Claude Code 2.1.167 to 2.1.332 read them.
"""

from __future__ import annotations

import json
from pathlib import Path

MADE_UP_KEY = "sk-made-up-key-for-tests-0123456789abcdef"

CODEX_MODEL = "gpt-5.5"

CODEX_CONFIG = """\
model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_MODEL_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
"""


def codex_files(home: Path, url: str) -> dict[str, str]:
    """Write the user's configuration of codex; the environment that goes with it."""
    folder = home / ".codex"
    folder.mkdir()
    text = CODEX_CONFIG.format(model=CODEX_MODEL, url=url)
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return {"SCRIPTED_MODEL_KEY": MADE_UP_KEY}


def codex_trust(home: Path, folder: Path) -> None:
    """Trust `folder` as the user would have done at codex's own screen."""
    with (home / ".codex" / "config.toml").open("a", encoding="utf-8") as config:
        config.write(f'\n[projects.{json.dumps(str(folder))}]\ntrust_level = "trusted"\n')


def claude_files(home: Path, url: str) -> dict[str, str]:
    """Write the user's configuration of claude; the environment that goes with it."""
    (home / ".claude").mkdir()
    state = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [MADE_UP_KEY[-20:]], "rejected": []},
        "projects": {},
    }
    (home / ".claude.json").write_text(json.dumps(state), encoding="utf-8")
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": MADE_UP_KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def claude_trust(home: Path, folder: Path) -> None:
    """Trust `folder` as the user would have done at claude's own screen."""
    path = home / ".claude.json"
    state = json.loads(path.read_text(encoding="utf-8"))
    state["projects"].setdefault(str(folder), {})["hasTrustDialogAccepted"] = True
    path.write_text(json.dumps(state), encoding="utf-8")


def grok_files(home: Path, url: str) -> dict[str, str]:
    """The environment of grok; it takes the one model that the provider lists."""
    return {"XAI_API_KEY": MADE_UP_KEY, "GROK_MODELS_BASE_URL": f"{url}/v1"}


def gemini_files(home: Path, url: str) -> dict[str, str]:
    """Write the user's configuration of gemini; the environment that goes with it."""
    (home / ".gemini").mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "retryFetchErrors": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return {"GEMINI_API_KEY": MADE_UP_KEY, "GOOGLE_GEMINI_BASE_URL": url}


def opencode_files(home: Path, url: str) -> dict[str, str]:
    """Write the user's configuration of opencode; the environment that goes with it."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": MADE_UP_KEY},
        "models": {"fake-1": {"name": "fake-1"}},
    }
    config = {"model": "scripted/fake-1", "provider": {"scripted": provider}}
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.json").write_text(json.dumps(config), encoding="utf-8")
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


FILES = {
    "claude": claude_files,
    "codex": codex_files,
    "gemini": gemini_files,
    "grok": grok_files,
    "opencode": opencode_files,
}
