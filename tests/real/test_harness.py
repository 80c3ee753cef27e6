"""The harness itself: each real agent answers with what the script says, and with nothing else."""

from __future__ import annotations

from tests.support.model_server import HttpError, Say, Shell
from tests.support.namespaces import interfaces
from tests.support.real_agents import RealAgent
from tests.support.wait import wait_until

PROMPT = '- it\'s "quoted" $HOME `x` \\ äöü 漢字\n\n  second line, indented'


def test_batch_mode_prints_the_scripted_answer_and_the_model_saw_the_exact_prompt(
    any_agent: RealAgent,
) -> None:
    any_agent.model.queue("The scripted answer.")
    done = any_agent.print_answer(PROMPT)
    assert (done.returncode, done.stdout.strip()) == (0, "The scripted answer."), done.stderr
    assert any_agent.model.user_messages == [PROMPT]
    assert len(any_agent.model.turns) == 1
    assert interfaces() == ["lo"]
    assert {request.peer for request in any_agent.model.requests} == {"127.0.0.1"}


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


def test_the_model_sees_each_message_typed_while_idle_busy_and_between_tools(
    any_agent: RealAgent,
) -> None:
    model = any_agent.model
    streaming, before_tool = model.gate(), model.gate()
    model.when("be slow", Say("working"), streaming, Say(" finished"))
    model.when("use a tool", Say("on to the tool"), before_tool, Shell("echo output"))
    any_agent.trust()
    pane = any_agent.start_tui("be slow")
    streaming.wait_reached()
    any_agent.type_in_tui(pane, "while busy\n\n  'two' \"lines\"")
    any_agent.type_in_tui(pane, "again while busy")
    streaming.release()
    model.wait_for_message("again while busy")
    any_agent.type_in_tui(pane, "use a tool")
    before_tool.wait_reached()
    any_agent.type_in_tui(pane, "before\nthe tool")
    any_agent.type_in_tui(pane, "again before the tool")
    before_tool.release()
    model.wait_for_message("again before the tool")
    assert model.user_messages == [
        "be slow",
        "while busy\n\n  'two' \"lines\"",
        "again while busy",
        "use a tool",
        "before\nthe tool",
        "again before the tool",
    ]


def test_titles_and_the_like_use_up_no_scripted_reply(any_agent: RealAgent) -> None:
    any_agent.model.queue("first of the queue")
    any_agent.model.queue("second of the queue")
    any_agent.trust()
    pane = any_agent.start_tui("one")
    wait_until(lambda: "first of the queue" in any_agent.tmux.screen(pane), 30)
    any_agent.type_in_tui(pane, "two")
    wait_until(lambda: "second of the queue" in any_agent.tmux.screen(pane), 30)
    assert [turn.answered_by for turn in any_agent.model.turns] == ["queue", "queue"]


def test_the_record_shows_that_an_agent_is_gone(any_agent: RealAgent) -> None:
    gate = any_agent.model.gate()
    any_agent.model.default(Say("working"), gate)
    any_agent.trust()
    pane = any_agent.start_tui("be slow")
    gate.wait_reached()
    any_agent.tmux.run("kill-pane", "-t", pane)
    wait_until(lambda: any_agent.model.turns[0].outcome == "client closed")


def test_nothing_is_left_of_an_agent_that_is_closed(any_agent: RealAgent) -> None:
    any_agent.trust()
    any_agent.start_tui("hello")
    any_agent.model.wait_for_turns(1)
    assert any_agent.processes()
    any_agent.close()
    assert not any_agent.processes()
