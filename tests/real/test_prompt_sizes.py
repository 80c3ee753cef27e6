"""First prompts of every size arrive whole, in each way that a prompt takes."""

import random
import re
import string

import pytest

from tests.real.test_main_job import show, status, submit, wait
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until

FRAMED = re.compile(
    r"\s*<pasted_content id=\"(?:\w+)\">\n(.*)\n</pasted_content id=\"\w+\">\s*", re.DOTALL
)
SIZES = (131_071, 131_072, 131_073, 1_000_000)


def text_of(size: int) -> str:
    """Words, lines and some wide letters, exactly that many bytes of UTF-8; new each time."""
    chance = random.Random()
    letters = string.ascii_letters + string.digits + " .,;'\"$`"
    lines: list[str] = []
    left = size
    while left > 80:
        line = "begin " + "".join(chance.choice(letters) for _ in range(60)).strip() + " ü end"
        lines.append(line)
        left -= len(line.encode()) + 1
    return "\n".join([*lines, "x" * left])


@pytest.mark.parametrize("size", SIZES)
def test_a_batch_prompt_arrives_whole(any_agent: RealAgent, size: int) -> None:
    any_agent.model.default("Read it all.")
    prompt = text_of(size)
    assert len(prompt.encode()) == size
    file = any_agent.project.parent / "prompt.txt"
    file.write_text(prompt)
    task = submit(any_agent, "--mode", "batch", "--file", str(file))
    view = wait(any_agent, task)
    assert view["status"] == "completed", view
    assert any_agent.model.user_messages == [prompt]


@pytest.mark.parametrize("size", SIZES)
def test_a_prompt_for_the_tui_arrives_whole(any_agent: RealAgent, size: int) -> None:
    any_agent.model.default("Read it all.")
    prompt = text_of(size)
    file = any_agent.project.parent / "prompt.txt"
    file.write_text(prompt)
    any_agent.trust()
    task = submit(any_agent, "--trust", "--file", str(file))
    wait_until(lambda: any_agent.model.user_messages, 100, lambda: show(any_agent, task))
    wait_until(lambda: status(any_agent, task)["last_turn"] == "completed", 30)
    (got,) = any_agent.model.user_messages
    if got != prompt:
        # What claude 2.1.332 does to a paste that is too large to be typed in pieces.
        assert FRAMED.fullmatch(got), got[:200]
        assert FRAMED.fullmatch(got)[1] == prompt  # type: ignore[index]
        assert "pasted_content" in " ".join(status(any_agent, task)["warnings"])
    any_agent.cuekit("task", "cancel", task["task_id"])
