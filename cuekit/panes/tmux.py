"""The tmux backend: plain argument vectors, exact targets, a limit of time on every call.

Nothing of a user's (path, prompt, message) is an argument here: tmux expands `#()`, `#{}`, `%`
and a last `;` in its arguments (tmux 3.3a, measured). Text goes in through standard input.
"""

import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress

from cuekit.errors import CuekitError
from cuekit.panes.base import Pane, PaneGone, TmuxGone, TmuxUnclear
from cuekit.panes.octal import passes_untouched
from cuekit.panes.sockets import default_socket as default_socket
from cuekit.panes.sockets import named_socket as named_socket
from cuekit.panes.tmux_call import Call, find_tmux, run

PINNED_IN_SESSION = {
    "destroy-unattached": "off",  # else a detached session is closed at once
    "default-shell": "/bin/sh",  # no version may run the hooks by fish or nushell; 3.3a does not
    "detach-on-destroy": "on",
}
PINNED_IN_WINDOW = {
    "remain-on-exit": "on",  # so that pane-died runs, and the last screen stays until it is read
    "automatic-rename": "off",
    "window-size": "latest",  # a client that attaches gets its own size
}
PINNED_IN_PANE = {"allow-rename": "off", "allow-set-title": "on"}
# Letters before what may be empty; last what may hold blanks. A session's name has no ":".
PANE_FIELDS = (
    "#{pane_id} #{pane_pid} #{pane_dead} c#{pane_dead_status} s#{pane_dead_signal}"
    " m#{pane_in_mode} a#{alternate_on} t#{@cuekit_task} #{session_name}:"
    "#{s/ /_/:pane_current_command} #{pane_title}"
)
PANE_LINE = re.compile(
    r"(%\d+) (\d+) ([01]) c(\d*) s(\d*) m(\d*) a([01]?) t(\S*) ([^:]*):(\S*) ?(.*)\Z", re.DOTALL
)
LEFT = "left-copy-mode"
SESSION_NAME = re.compile(r"[A-Za-z0-9_-]+\Z")
PANE_ID = re.compile(r"%\d+\Z")


class Tmux:
    """One tmux server, by its socket. Satisfies PaneBackend."""

    def __init__(
        self, socket_path: str | None, *, environ: Mapping[str, str], limit_s: float = 10.0
    ) -> None:
        """Raises TmuxMissing when there is no tmux on the PATH of the environment."""
        self._environ = dict(environ)
        self._socket = os.path.abspath(socket_path or default_socket(environ))
        self._binary = find_tmux(environ)
        self._limit_s = limit_s

    @property
    def binary(self) -> str:
        """The absolute path of the tmux program."""
        return self._binary

    def socket(self) -> str:
        """The real path of the server's socket."""
        return os.path.realpath(self._socket)

    def start_session(
        self,
        name: str,
        command: Sequence[str],
        *,
        task_id: str,
        pipe_command: str,
        options: Mapping[str, str] | None = None,
        hooks: Mapping[str, str] | None = None,
        width: int = 200,
        height: int = 50,
    ) -> str:
        """Start a command in a detached session and return its pane's id, in one tmux invocation.

        One invocation, so that neither the pane's first bytes nor the session itself (with
        destroy-unattached on) can be lost in between. `pipe_command` is a shell command that gets
        the pane's output. `options` are further session options, `hooks` further hooks. When this
        raises, no session of that name was left by it, or the server does not answer.
        """
        _require(SESSION_NAME, name)
        _require(SESSION_NAME, task_id)
        target = f"={name}:"
        arguments = ["new-session", "-d", "-s", name, "-x", str(width), "-y", str(height)]
        arguments += ["-P", "-F", "#{pane_id} #{session_name}", *_untouched(command)]
        arguments += [";", "set-option", "-p", "-t", target, "@cuekit_task", task_id]
        if pipe_command:
            arguments += [";", "pipe-pane", "-t", target, *_untouched([pipe_command])]
        for flags, pinned in (
            ("", {**PINNED_IN_SESSION, **(options or {})}),
            ("w", PINNED_IN_WINDOW),
            ("p", PINNED_IN_PANE),
        ):
            for option, value in pinned.items():
                quiet = f"-q{flags}"  # an option that this tmux does not have needs no pin
                arguments += [";", "set-option", quiet, "-t", target, option, *_untouched([value])]
        for hook, hook_command in (hooks or {}).items():
            arguments += [";", "set-hook", "-t", target, hook, *_untouched([hook_command])]
        arguments += [";", "show-options", "-s", "-v", "exit-unattached"]
        _prepare_folder(self._socket)
        call = self._call(arguments)
        if call.status != 0:
            if "duplicate session" not in call.errors:
                self._remove_quietly(name)
            raise call.failure()
        first, _, unattached = call.output.partition("\n")
        pane_id, _, made = first.partition(" ")
        if unattached.strip() == "on":
            self._remove_quietly(name)
            raise _closes_detached("exit-unattached", self._socket)
        if made != name or not PANE_ID.match(pane_id):
            self._remove_quietly(name)
            raise TmuxUnclear(
                f"tmux did not keep the session {name} that it was told to make",
                hint="see `cuekit doctor` for options of tmux.conf that close sessions",
            )
        return pane_id

    def panes(self) -> list[Pane]:
        """Every pane of the server; empty only when the server itself says so."""
        call = self._require_ok(["list-panes", "-a", "-F", PANE_FIELDS])
        return [pane for line in call.output.split("\n") if (pane := _pane(line)) is not None]

    def pane(self, session: str) -> Pane | None:
        """The pane that cuekit made in a session (else its first); None: no such session."""
        panes = [pane for pane in self.panes() if pane.session == session]
        return next((pane for pane in panes if pane.task), panes[0] if panes else None)

    def server_identity(self) -> tuple[int, float] | None:
        """The server's process id and when it started (Unix seconds); None: no server."""
        try:
            call = self._require_ok(["display-message", "-p", "#{pid} #{start_time}"])
        except TmuxGone:
            return None
        pid, _, started = call.output.strip().partition(" ")
        if not (pid.isdigit() and started.isdigit()):
            raise TmuxUnclear(f"tmux answers with {call.output.strip()!r} when asked who it is")
        return int(pid), float(started)

    def capture(self, pane_id: str, *, styled: bool = False, history: int = 0) -> str:
        """The text on a pane's screen; `styled` keeps its colours as escape sequences."""
        arguments = ["capture-pane", "-p", "-t", _require(PANE_ID, pane_id)]
        if styled:
            arguments.append("-e")
        if history:
            arguments += ["-S", str(-history)]
        return self._require_ok(arguments).output

    def screen(self, pane_id: str) -> tuple[str, str]:
        """The text on a pane's screen without and with its styles, taken at one moment."""
        target = ["-t", _require(PANE_ID, pane_id)]
        mark = os.urandom(8).hex()
        shot = ["capture-pane", "-p", *target, ";", "display-message", "-p", mark, ";"]
        output = self._require_ok([*shot, "capture-pane", "-p", "-e", *target]).output
        plain, _, styled = output.partition(f"{mark}\n")
        return plain, styled

    def load_and_paste(self, pane_id: str, text: str, *, bracketed: bool = True) -> bool:
        """Paste text, byte for byte: `-r` keeps line feeds, tmux itself makes the brackets.

        The brackets appear only where the program asked for bracketed paste. Copy mode is left
        first, in the same invocation; the answer is whether it was on.
        """
        name = f"cuekit-{os.getpid()}-{os.urandom(4).hex()}"
        arguments = [*_leaving(pane_id), ";", "load-buffer", "-b", name, "-", ";"]
        arguments += ["paste-buffer", "-r", "-d", "-b", name, "-t", pane_id]
        arguments += ["-p"] if bracketed else []
        call = self._call(arguments, text.encode("utf-8"))
        if call.status != 0:
            self._call(["delete-buffer", "-b", name])
            raise call.failure()
        return LEFT in call.output

    def key(self, pane_id: str, name: str) -> bool:
        """Press a key by its name, so that tmux encodes it as the program asked for.

        Copy mode would take the key: it is left first; the answer is whether it was on.
        """
        pressed = ["send-keys", "-t", _require(PANE_ID, pane_id), *_untouched([name])]
        return LEFT in self._require_ok([*_leaving(pane_id), ";", *pressed]).output

    def leave_copy_mode(self, pane_id: str) -> bool:
        """End the pane's copy mode; whether it was on."""
        return LEFT in self._require_ok(_leaving(pane_id)).output

    def clients(self, session: str) -> int:
        """How many clients are attached to a session; 0 when it is not there."""
        target = f"={_require(SESSION_NAME, session)}"
        try:
            call = self._require_ok(["list-clients", "-t", target, "-F", "x"])
        except (TmuxGone, PaneGone):
            return 0
        return len(call.output.splitlines())

    def kill_session(self, session: str) -> bool:
        """End a session by its exact name; whether it was there. Gone for sure on return."""
        target = f"={_require(SESSION_NAME, session)}"
        try:
            self._require_ok(["kill-session", "-t", target])
        except (TmuxGone, PaneGone):
            return False
        if self._has_session(target):
            raise TmuxUnclear(f"tmux still has the session {session} after it was told to end it")
        return True

    def reap(self) -> None:
        """Make the server look for ended programs, so that it tells how a dead pane's one ended.

        A tmux built with libutempter (Debian's 3.3a, traced) has SIGCHLD at its default while it
        removes the login record of a pane that closed; the news of the program's end is lost when
        it comes just then, and `pane-died` does not run, until another child of the server ends.
        """
        self._require_ok(["run-shell", "-b", ":"])

    def unpinnable(self) -> list[str]:
        """The server's options that would close detached sessions and that cannot be overruled.

        They belong to the whole server, so that to change them would change the user's tmux.
        """
        try:
            call = self._require_ok(["show-options", "-s", "-v", "exit-unattached"])
        except TmuxGone:
            return []
        return ["exit-unattached"] if call.output.strip() == "on" else []

    def attach_command(self, session: str, *, read_only: bool = False) -> list[str]:
        """The command that shows a session on the caller's terminal."""
        flags = ["-r"] if read_only else []
        target = f"={_require(SESSION_NAME, session)}"
        return [self._binary, "-S", self.socket(), "attach-session", *flags, "-t", target]

    def switch_command(self, session: str, *, read_only: bool = False) -> list[str]:
        """The command that shows a session in the tmux client that the caller sits in."""
        flags = ["-r"] if read_only else []
        target = f"={_require(SESSION_NAME, session)}"
        return [self._binary, "-S", self.socket(), "switch-client", *flags, "-t", target]

    def _has_session(self, target: str) -> bool:
        try:
            self._require_ok(["has-session", "-t", target])
        except (TmuxGone, PaneGone):
            return False
        return True

    def _remove_quietly(self, name: str) -> None:
        with suppress(TmuxGone, PaneGone, TmuxUnclear):
            self._require_ok(["kill-session", "-t", f"={name}"])

    def _call(self, arguments: Sequence[str], given: bytes = b"") -> Call:
        command = [self._binary, "-u", "-S", self._socket, *arguments]
        return run(command, given, self._environ, self._limit_s)

    def _require_ok(self, arguments: Sequence[str]) -> Call:
        call = self._call(arguments)
        if call.status != 0:
            raise call.failure()
        return call


def _prepare_folder(socket: str) -> None:
    """Make the folder of the socket, as tmux itself does for `-L` but not for `-S`.

    Raises TmuxUnclear (`tmux_folder`) where tmux would refuse it too: tmux's own folder that
    belongs to another user or is open to others.
    """
    folder = os.path.dirname(socket)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise _bad_folder(folder, f"cannot be made: {error.strerror}") from None
    if os.path.basename(folder) != f"tmux-{os.getuid()}":
        return
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o007:
        raise _bad_folder(folder, "is not a folder that only you can enter")


def _bad_folder(folder: str, problem: str) -> TmuxUnclear:
    return TmuxUnclear(
        f"the folder of tmux's socket {problem}: {folder}",
        code="tmux_folder",
        hint="remove it, or set TMUX_TMPDIR to a folder of your own",
        retryable=False,
        details={"folder": folder},
    )


def _closes_detached(option: str, socket: str) -> CuekitError:
    return CuekitError(
        f"the tmux server at {socket} has {option} on: it would end with every task in it",
        code="tmux_option",
        hint=f"`tmux set-option -s {option} off`, or another server (multiplexer in .cuekit.yaml)",
        details={"option": option},
    )


def _leaving(pane_id: str) -> list[str]:
    target = _require(PANE_ID, pane_id)
    leave = f"send-keys -t {target} -X cancel ; display-message -p {LEFT}"
    return ["if-shell", "-F", "-t", target, "#{pane_in_mode}", leave]


def _require(pattern: re.Pattern[str], target: str) -> str:
    if not pattern.match(target):
        raise ValueError(f"not an exact tmux target: {target!r}")
    return target


def _untouched(arguments: Sequence[str]) -> list[str]:
    for argument in arguments:
        if not passes_untouched(argument):
            raise ValueError(f"tmux would not pass this argument on as it is: {argument!r}")
    return list(arguments)


def _pane(line: str) -> Pane | None:
    found = PANE_LINE.match(line)
    if found is None:
        return None
    pane_id, pid, dead, code, signal, mode, alternate, task, session, command, title = (
        found.groups()
    )
    return Pane(
        session=session,
        pane_id=pane_id,
        pid=int(pid),
        dead=dead == "1",
        title=title,
        in_mode=mode not in ("", "0"),
        alternate=alternate == "1",
        command=command,
        task=task,
        exit_code=int(code) if code else None,
        exit_signal=int(signal) if signal else None,
    )
