"""The tools: each calls the service that the command of the same name calls."""

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from cuekit.errors import InvalidInput
from cuekit.mcp_server import arguments as checking
from cuekit.mcp_server.schemas import SUBMIT, TOOLS
from cuekit.model.approval import Decision, DecisionKind
from cuekit.model.lifecycle import ENDS
from cuekit.model.times import parse_duration
from cuekit.paths import home_from

Json = dict[str, Any]

WAIT_S = 44.0
"""Clients give a call up after a minute; what the last look takes is left to spare."""
STEER_S = 40.0
PAGE = 50
LISTS = ("add_dirs", "constraints", "inputs", "labels")
_BY_NAME = {tool.name: tool for tool in TOOLS}


class Gone(Exception):
    """The client took its call back, or is gone itself."""


class Parent:
    """One connection: its session, and the environment that it acts in."""

    def __init__(self, session_id: str, environ: Mapping[str, str]) -> None:
        self.session_id = session_id
        self.environ = environ

    def call(
        self, name: str, arguments: Mapping[str, Any] | None, stopped: threading.Event
    ) -> Json:
        """Run a tool; its object. Raises CuekitError, and Gone when `stopped` was set."""
        tool = _BY_NAME.get(name)
        if tool is None:
            raise InvalidInput(
                f"no tool {name!r}; there is {', '.join(_BY_NAME)}", code="unknown_tool"
            )
        given = checking.given(arguments)
        checking.check(tool.schema, given)
        run: Callable[[Json, threading.Event], Json] = getattr(self, f"_{name}")
        return run(given, stopped)

    def _submit_task(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.submit import submit

        return submit(self._request(given), self.environ)

    def _submit_tasks(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.submit import submit_all

        one = _BY_NAME["submit_task"].schema
        requests = []
        for number, task in enumerate(given["tasks"]):
            said = checking.given(task)
            checking.check(one, said, f"tasks[{number}]")
            requests.append(self._request(said))
        return submit_all(requests, self.environ)

    def _request(self, given: Json) -> Any:
        from cuekit.service.request import SubmitRequest

        values = {name: given[name] for name in SUBMIT if name in given and name != "timeout"}
        for name in LISTS:
            values[name] = tuple(values.get(name, ()))
        limit = given.get("timeout")
        return SubmitRequest(
            **values,
            timeout_s=parse_duration(limit) if limit is not None else None,
            session=self.session_id,
            via="mcp",
        )

    def _get_status(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.status import status

        return {"tasks": status(given["task_ids"], self.environ)}

    def _list(self, given: Json, _: threading.Event) -> Json:
        listing: Callable[[Json], Json] = getattr(self, f"_list_{given['kind']}")
        return listing(given)

    def _list_tasks(self, given: Json) -> Json:
        from cuekit.service.listing import list_tasks, wanted_tasks

        wide = given.get("all", False) or "cwd" in given
        wanted = wanted_tasks(
            statuses=given.get("statuses", ()),
            agent_kinds=given.get("agent_kinds", ()),
            session_id=given.get("session") or (None if wide else self.session_id),
            labels=given.get("labels", ()),
            folder=given.get("cwd"),
            every_project=given.get("all", False),
        )
        limit, cursor = given.get("limit", PAGE), given.get("cursor")
        return list_tasks(self.environ, wanted, limit=limit, cursor=cursor).as_json()

    def _list_events(self, given: Json) -> Json:
        from cuekit.service.event_log import task_events

        if "task_id" not in given:
            raise InvalidInput("task_id: is missing", code="invalid_arguments")
        limit = given.get("limit", PAGE)
        events = task_events(
            given["task_id"],
            self.environ,
            since=given.get("since", 0),
            kinds=given.get("kinds", ()),
        )
        found = list(islice(events, limit))
        return {"events": found, "next_since": found[-1]["seq"] if len(found) == limit else None}

    def _list_adapters(self, given: Json) -> Json:
        from cuekit.service.adapters import adapter_list
        from cuekit.service.lookup import current_folder

        return adapter_list(given.get("cwd") or current_folder(), self.environ)

    def _list_approvals(self, given: Json) -> Json:
        from cuekit.service.approvals import list_approvals

        everything = given.get("all", False)
        found = list_approvals(self.environ, task=given.get("task_id"), everything=everything)
        return {"approvals": found}

    def _list_sessions(self, _: Json) -> Json:
        from cuekit.service.sessions import listed

        return {"this_session": self.session_id, **listed(self.environ)}

    def _list_agent_profiles(self, given: Json) -> Json:
        from cuekit.service import roles
        from cuekit.service.lookup import current_folder

        folder = given.get("cwd") or current_folder()
        there = roles.listed(folder, self.environ, instructions=False)
        return {"agent_profiles": there["profiles"], "problems": there["problems"]}

    def _steer_task(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.steer import steer

        self._check_own([given["task_id"]], "steer")
        done = steer(
            home_from(self.environ),
            self.environ,
            given["task_id"],
            given["message"],
            interrupt=given.get("interrupt", False),
            when_idle=given.get("when_idle", False),
            timeout=STEER_S,
        )
        return {"ok": True} | done

    def _wait(self, given: Json, stopped: threading.Event) -> Json:
        from cuekit.service.wait import Until, wait

        limit = min(parse_duration(given.get("timeout", "44s")), WAIT_S)

        def look(_tasks: Sequence[Any], _waited: float) -> None:
            if stopped.is_set():
                raise Gone

        waited = wait(
            given["task_ids"],
            self.environ,
            until=Until(given.get("until", "any")),
            after=given.get("after"),
            timeout_s=limit,
            first=given.get("first", False),
            progress=look,
        )
        return {"state": "running" if waited.timed_out else "reached", "tasks": waited.views}

    def _get_result(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.result import result

        return result(given["task_id"], self.environ)

    def _finish_task(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.cancel import finish

        self._check_own([given["task_id"]], "finish")
        return finish(given["task_id"], self.environ)

    def _cancel_tasks(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.cancel import cancel

        self._check_own(given["task_ids"], "cancel")
        return {"tasks": cancel(given["task_ids"], self.environ)}

    def _cleanup(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.cleanup import cleanup, delete
        from cuekit.service.listing import wanted_tasks
        from cuekit.service.retention import keep_for

        dry_run = given.get("dry_run", False)
        if "task_ids" in given:
            if "statuses" in given or "older_than" in given:
                raise InvalidInput(
                    "give task_ids, or statuses and older_than", code="invalid_arguments"
                )
            self._check_own(given["task_ids"], "remove")
            return delete(given["task_ids"], self.environ, dry_run=dry_run).as_json()
        statuses = given.get("statuses") or [str(status) for status in sorted(ENDS)]
        wanted = wanted_tasks(statuses=statuses, session_id=self.session_id)
        said = given.get("older_than")
        age = parse_duration(said) if said is not None else keep_for(self.environ)
        return cleanup(self.environ, wanted=wanted, older_than_s=age, dry_run=dry_run).as_json()

    def _report(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.report import report

        return report(
            given["type"],
            given["message"],
            self.environ,
            payload=given.get("payload"),
            key=given.get("key"),
            via="mcp",
        )

    def _resolve_approval(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.parents import decide

        kind = DecisionKind(given["decision"])
        if kind is DecisionKind.ALLOW_ALWAYS and given.get("scope", "task") != "task":
            raise InvalidInput("a parent allows always for one task alone", code="wrong_scope")
        decision = Decision(
            kind,
            message=given.get("message"),
            changed_input=given.get("changed_input"),
            granted=given.get("granted"),
            scope=given.get("scope"),
            answers=_answers(given.get("answers")),
            by=f"parent:{self.environ.get('CUEKIT_TASK_ID') or self.session_id}",
            how="mcp",
        )
        return decide(given["approval_id"], decision, self.session_id, self.environ)

    def _resume_task(self, given: Json, _: threading.Event) -> Json:
        from cuekit.service.resume import resume

        self._check_own([given["task_id"]], "resume")
        return resume(
            given["task_id"],
            given["message"],
            self.environ,
            fork=given.get("fork", False),
            mode=given.get("mode"),
            session=self.session_id,
            via="mcp",
        )

    def _check_own(self, refs: Sequence[str], what: str) -> None:
        from cuekit.service.parents import check_may_act

        check_may_act(refs, self.environ, what)


def _answers(given: Any) -> dict[str, list[str]] | None:
    """Each question's values; a single one may stand without its list."""
    if given is None:
        return None
    return {
        str(key): [str(one) for one in value] if isinstance(value, list) else [str(value)]
        for key, value in given.items()
    }
