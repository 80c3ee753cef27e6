"""The harness itself: each real agent answers with what the script says, and with nothing else."""

from __future__ import annotations

from tests.support.isolate import interfaces
from tests.support.model_server import HttpError
from tests.support.real_agents import RealAgent

PROMPT = '- it\'s "quoted" $HOME `x` \\ äöü 漢字\n\n  second line, indented'


def test_batch_mode_prints_the_scripted_answer_and_the_model_saw_the_exact_prompt(
    any_agent: RealAgent,
) -> None:
    any_agent.model.queue("The scripted answer.")
    done = any_agent.print_answer(PROMPT)
    assert (done.returncode, done.stdout.strip()) == (0, "The scripted answer."), done.stderr
    assert any_agent.model.user_messages == [PROMPT]
    assert len(any_agent.model.turns) == 1


def test_a_server_error_fails_the_run(any_agent: RealAgent) -> None:
    any_agent.model.default(HttpError(500, "the scripted server is broken"))
    done = any_agent.print_answer("hello")
    assert (done.returncode, any_agent.model.turns[0].outcome) == (1, "500")
    assert "error" in (done.stdout + done.stderr).lower()


def test_a_refused_request_fails_the_run_with_the_servers_words(any_agent: RealAgent) -> None:
    any_agent.model.default(HttpError(400, "the scripted server refuses"))
    done = any_agent.print_answer("hello")
    assert done.returncode == 1
    assert "the scripted server refuses" in done.stdout + done.stderr


def test_nothing_but_loopback_is_there_and_every_request_comes_from_it(
    any_agent: RealAgent,
) -> None:
    assert interfaces() == ["lo"]
    any_agent.print_answer("hello")
    assert {request.peer for request in any_agent.model.requests} == {"127.0.0.1"}
