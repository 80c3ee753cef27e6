"""Whether the always-rules decide a request. Pure: paths are resolved by a function of the caller.

Deny comes before allow. An allow rule must fit all of what is asked; a deny rule fits when any
part does. Some requests no rule decides, and a command that cannot be judged no rule allows.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cuekit.approvals import guard, risk, shellwords
from cuekit.approvals.shellwords import SimpleCommand
from cuekit.errors import InvalidInput, InvalidState
from cuekit.model.approval import ApprovalRequest, Decision, DecisionKind, Risk, RuleScope
from cuekit.model.event import Tool
from cuekit.model.rule import Effect, Rule

Resolve = Callable[[str], str]
"""Gives an absolute path with symbolic links and `..` resolved."""

READ_ONLY = frozenset({Tool.READ, Tool.LIST, Tool.SEARCH})
FILE_TOOLS = READ_ONLY | {Tool.WRITE, Tool.EDIT}
BUILT_IN = "built-in"
INSIDE = "/**"
MORE = " *"
NO_RULE_TOOLS = {
    Tool.QUESTION: "a question has no answer that holds for ever",
    Tool.PERMISSIONS: "more permissions are granted by a person alone",
    Tool.PLAN: "a plan is agreed to by a person alone",
}
NO_RULE_NATIVE = frozenset({"AskUserQuestion", "ExitPlanMode", "exit_plan_mode"})
WIDENING = frozenset({"grantRoot", "additionalPermissions", "networkApprovalContext"})
"""Fields of codex's requests by which an answer grants more than the one action."""


def decide(
    request: ApprovalRequest,
    asked_risk: Risk,
    rules: Sequence[Rule],
    *,
    root: str,
    resolve: Resolve,
) -> Decision | None:
    """What the rules say of a request; None when a person decides.

    `root` is the task's working directory, in which reading is allowed by a built-in rule.
    """
    if never(request) is not None:
        return None
    asked = _Asked(request, asked_risk, root, resolve)
    for rule in rules:
        if rule.effect is Effect.DENY and asked.denied_by(rule):
            return Decision(
                DecisionKind.DENY,
                message=f"a rule of the user's does not allow this ({rule.rule_id})",
                by=f"rule:{rule.rule_id}",
                how="rule",
            )
    if asked.is_cuekit():
        return None
    if any(rule.effect is Effect.ASK and asked.denied_by(rule) for rule in rules):
        return None
    allowing = asked.allowed_by([rule for rule in rules if rule.effect is Effect.ALLOW])
    if allowing is None:
        return None
    return Decision(DecisionKind.ALLOW, by=f"rule:{'+'.join(allowing)}", how="rule")


def never(request: ApprovalRequest) -> str | None:
    """Why no rule may decide a request; None when one may."""
    if request.tool in NO_RULE_TOOLS:
        return NO_RULE_TOOLS[Tool(request.tool)]
    if request.questions or request.native_tool in NO_RULE_NATIVE:
        return "a person answers this"
    for fields in (request.input, request.native, request.native.get("params")):
        if isinstance(fields, Mapping) and any(fields.get(name) for name in WIDENING):
            return "it would grant more than this one action"
    return None


class _Asked:
    """A request, read for the rules."""

    def __init__(
        self, request: ApprovalRequest, asked_risk: Risk, root: str, resolve: Resolve
    ) -> None:
        self.request = request
        self.risk = asked_risk
        self.resolve = resolve
        self.root = resolve(root)
        folder = request.input.get("cwd") or request.cwd or root
        self.folder = resolve(os.path.join(root, folder)) if isinstance(folder, str) else root
        command = request.input.get("command") if request.tool == Tool.SHELL else None
        self.command = command if isinstance(command, str) else ""
        self.parts = shellwords.parts(self.command) if self.command else None

    def is_cuekit(self) -> bool:
        """Whether it is cuekit itself that would be run, or its files that would be touched."""
        if self.request.tool == Tool.MCP:
            named = [self.request.native_tool, str(self.request.input.get("server", ""))]
            return any("cuekit" in name.lower() for name in named)
        if self.request.tool in FILE_TOOLS:
            return any(self._is_ours(path) for path in self.paths() or ())
        for part in self.parts or ():
            seen = [
                self.resolve(os.path.join(self.folder, word)) if "/" in word else word
                for word in part.words
            ]
            if guard.is_cuekit(part.words) or guard.is_cuekit(seen):
                return True
            if any(self._is_ours(word) for word in seen if "/" in word or word[:1] == "."):
                return True
        return False

    def _is_ours(self, path: str) -> bool:
        """Whether a path is in a folder of cuekit's own, or its configuration.

        The task's own working directory may be in one: a worktree of cuekit's making.
        """
        inside = path.removeprefix(self.root) if _inside(path, self.root) else path
        names = inside.split("/")
        return ".cuekit" in names or ".cuekit.yaml" in names

    def paths(self) -> list[str] | None:
        """Every file or folder that is asked for, resolved; None when that cannot be told."""
        if self.request.tool not in FILE_TOOLS:
            return None
        named = list(_named_paths(self.request.input))
        if not named and self.request.tool in (Tool.LIST, Tool.SEARCH):
            named = ["."]
        if not named or any(not path or path.startswith("~") or "\0" in path for path in named):
            return None
        if self.request.tool is not Tool.READ and not _stays(self.request.input):
            return None
        return [self.resolve(os.path.join(self.folder, path)) for path in named]

    def allowed_by(self, rules: Sequence[Rule]) -> list[str] | None:
        """The ids of the rules that allow all of it; None when they do not."""
        if self.request.tool == Tool.SHELL:
            return self._allowed_command(rules)
        for rule in rules:
            fits = self._fits_kind(rule) and rule.command is None and self._fits_risk(rule)
            if fits and self._allowed_place(rule):
                return [rule.rule_id]
        if self.request.tool in READ_ONLY:
            paths = self.paths()
            if paths is not None and all(_inside(path, self.root) for path in paths):
                return [BUILT_IN]
        return None

    def _allowed_command(self, rules: Sequence[Rule]) -> list[str] | None:
        if not self.parts:
            return None
        fitting = [rule for rule in rules if self._fits_kind(rule) and self._fits_folder(rule)]
        for rule in fitting:
            if rule.command and _same(pattern_parts(rule.command), self.parts):
                return [rule.rule_id]
        found: list[str] = []
        for part in self.parts:
            rule_id = next((rule.rule_id for rule in fitting if _covers(rule, part)), None)
            if rule_id is None:
                return None
            if rule_id not in found:
                found.append(rule_id)
        return found

    def denied_by(self, rule: Rule) -> bool:
        """Whether any part of it is what the rule forbids."""
        if not self._fits_kind(rule):
            return False
        if rule.risk and not risk.at_most(Risk(rule.risk), self.risk):
            return False
        if rule.command is not None:
            pattern = shlex.split(rule.command.removesuffix(MORE))
            return any(_begins(words, pattern) for words in _all_words(self.command))
        if rule.path is None:
            return True
        if self.request.tool == Tool.SHELL:
            return _fits_path(rule.path, self.folder)
        if self.request.tool == Tool.FETCH:
            return _fits_path(rule.path, str(self.request.input.get("url", "")))
        return any(_fits_path(rule.path, path) for path in self.paths() or ())

    def _fits_kind(self, rule: Rule) -> bool:
        if rule.agent_kind not in (None, self.request.agent_kind):
            return False
        tool = self.request.tool
        if rule.tool is None:
            if rule.command is not None:
                return tool == Tool.SHELL
            return rule.path is None or tool in FILE_TOOLS
        return rule.tool in (tool, f"{tool}:{self.request.native_tool}")

    def _fits_risk(self, rule: Rule) -> bool:
        return rule.risk is None or risk.at_most(self.risk, Risk(rule.risk))

    def _fits_folder(self, rule: Rule) -> bool:
        return rule.path is None or _fits_path(rule.path, self.folder)

    def _allowed_place(self, rule: Rule) -> bool:
        if rule.path is None:
            return True
        if self.request.tool == Tool.FETCH:
            url = self.request.input.get("url")
            return isinstance(url, str) and _fits_path(rule.path, url)
        paths = self.paths()
        return paths is not None and all(_fits_path(rule.path, path) for path in paths)


def pattern_parts(command: str) -> tuple[SimpleCommand, ...] | None:
    """A rule's command as it is compared, without the mark for further arguments."""
    return shellwords.parts(command.removesuffix(MORE))


def checked_command(command: str) -> str:
    """A command for a rule, in the one form in which rules keep it.

    Raises InvalidInput (`command_not_judged`) for one that no rule could ever match.
    """
    open_end = command.endswith(MORE)
    found = pattern_parts(command)
    if not found or (open_end and len(found) > 1) or any(guard.is_cuekit(p.words) for p in found):
        raise InvalidInput(
            f"no rule can match the command {command!r}: it is more than plain words, runs "
            "another program, changes the shell, or is cuekit itself",
            code="command_not_judged",
            hint="give a plain command such as 'git status', or 'git diff *' for any arguments",
        )
    return _written(found) + (MORE if open_end else "")


def from_request(
    request: ApprovalRequest,
    *,
    rule_id: str,
    scope: RuleScope,
    scope_ref: str,
    made_by: str,
    made_at: float,
    from_approval: str,
    root: str,
    resolve: Resolve,
) -> Rule:
    """The rule that allows exactly this again: the same words in the same folder, the same file.

    Raises InvalidState (`no_rule_possible`) where no rule may or can say it.
    """
    why = never(request)
    asked = _Asked(request, Risk.UNKNOWN, root, resolve)
    command: str | None = None
    place: str | None = None
    tool: str = request.tool
    if why is None and asked.is_cuekit():
        why = "it is cuekit itself"
    if why is None and tool == Tool.SHELL:
        if not asked.parts:
            why = "its command is more than plain words, or runs a program that it names"
        else:
            command, place = _written(asked.parts), asked.folder
    elif why is None and tool in FILE_TOOLS:
        paths = asked.paths() or []
        if len(paths) == 1:
            place = paths[0]
        else:
            why = "it is about several files, or none that can be told"
    elif tool == Tool.FETCH:
        place = str(request.input.get("url") or "") or None
    elif tool in (Tool.MCP, Tool.OTHER):
        tool = f"{tool}:{request.native_tool}"
    if why is not None:
        raise InvalidState(
            f"this cannot be allowed for ever: {why}",
            code="no_rule_possible",
            hint="cuekit approval allow ID, without --always",
        )
    return Rule(
        rule_id=rule_id,
        effect=Effect.ALLOW,
        scope=scope,
        scope_ref=scope_ref,
        agent_kind=request.agent_kind,
        tool=tool,
        command=command,
        path=place,
        risk=None,
        made_by=made_by,
        made_at=made_at,
        from_approval=from_approval,
    )


def _covers(rule: Rule, part: SimpleCommand) -> bool:
    """Whether a rule allows one plain command.

    With ` *` at the pattern's end further arguments may follow, as long as they do not make the
    command riskier than the pattern itself is.
    """
    part_risk = risk.risk_of_words(part.words)
    if rule.risk and not risk.at_most(part_risk, Risk(rule.risk)):
        return False
    if rule.command is None:
        return True
    found = pattern_parts(rule.command)
    if not found or len(found) != 1:
        return False
    pattern = found[0].words
    if not rule.command.endswith(MORE):
        return part.words == pattern
    more = part.words[: len(pattern)] == pattern
    return more and risk.at_most(part_risk, risk.risk_of_words(pattern))


def _same(
    pattern: tuple[SimpleCommand, ...] | None, asked: tuple[SimpleCommand, ...] | None
) -> bool:
    return pattern is not None and len(pattern) > 1 and pattern == asked


def _written(found: Sequence[SimpleCommand]) -> str:
    """Plain commands as one line of text."""
    text = ""
    for part in found:
        joint = {"": "", ";": "; "}.get(part.before, f" {part.before} ")
        text += joint + shlex.join(part.words)
    return text


def _all_words(command: str) -> Iterator[Sequence[str]]:
    """Every command in a text, also inside of what wraps it: for deny rules, which reach wide."""
    found, _, _ = shellwords.loose_commands(command)
    for words in found:
        yield words
        inner = shellwords.shell_program(tuple(words))
        if inner is not None:
            yield from _all_words(inner)
        elif words and guard.name_of(words[0]) in guard.WRAPPERS:
            yield from (words[place:] for place in range(1, len(words)))


def _begins(words: Sequence[str], pattern: Sequence[str]) -> bool:
    if not words or not pattern or len(words) < len(pattern):
        return False
    same_program = words[0] == pattern[0] or guard.name_of(words[0]) == pattern[0]
    return same_program and list(words[1 : len(pattern)]) == list(pattern[1:])


def _named_paths(fields: Mapping[str, Any]) -> Iterator[str]:
    for name in ("path", "file_path", "notebook_path", "directory"):
        if isinstance(fields.get(name), str):
            yield fields[name]
    for name in ("paths", "changes"):
        for entry in fields.get(name) or () if isinstance(fields.get(name), list) else ():
            path = entry.get("path") if isinstance(entry, Mapping) else entry
            yield path if isinstance(path, str) else ""
            if isinstance(entry, Mapping) and isinstance(entry.get("move_path"), str):
                yield entry["move_path"]


def _stays(fields: Mapping[str, Any]) -> bool:
    """Whether a pattern of names does not lead out of the folder in which it is looked for."""
    for name in ("pattern", "glob", "include"):
        text = fields.get(name)
        if isinstance(text, str) and (text.startswith(("/", "~")) or ".." in text.split("/")):
            return False
    return True


def _fits_path(pattern: str, path: str) -> bool:
    if pattern.endswith(INSIDE):
        return _inside(path, pattern.removesuffix(INSIDE) or "/")
    return path == pattern


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
