"""The doctor on real agents: their versions, their flags, and nothing of theirs changed."""

from __future__ import annotations

from tests.support.real_agents import RealAgent


def test_every_flag_that_cuekit_passes_is_in_the_agents_own_help(any_agent: RealAgent) -> None:
    checks = {check["name"]: check for check in any_agent.cuekit("doctor")["checks"]}
    name = f"agent.{any_agent.kind}"
    assert (checks[name]["state"], checks[f"{name}.flags"]) == (
        "ok",
        {
            "name": f"{name}.flags",
            "state": "ok",
            "detail": "it knows every flag that cuekit would pass",
            "fix": None,
        },
    )
    assert checks[name]["detail"].startswith(f"{any_agent.version.version} at ")
