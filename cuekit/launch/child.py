"""Starting the agent as the foreground job of its pane."""

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

RESET = (
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGUSR1,
    signal.SIGCHLD,
    signal.SIGTTOU,
    signal.SIGTTIN,
    signal.SIGTSTP,
    signal.SIGXFSZ,  # Python ignores it, and PIPE, from its start
)


class StartFailed(Exception):
    """The agent could not be started; `exit_code` is what a shell would give for it."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__(f"{what}: {os.strerror(number)}")
        self.exit_code = 127 if number == 2 else 126


def start(argv: Sequence[str], cwd: str, environment: Mapping[str, str], stdin: str) -> int:
    """Start the child in a process group of its own, in the foreground; its pid.

    `stdin` is `tty`, `null`, or the path of a file. Raises StartFailed.
    """
    reader, writer = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:  # no room for another process
        os.close(reader)
        os.close(writer)
        raise StartFailed(argv[0], error.errno or 0) from None
    if pid == 0:
        _become(argv, cwd, environment, stdin, writer)
    os.close(writer)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # both do it, so that it is done whoever comes first
    with open(reader, "rb") as file:
        report = file.read()
    if not report:
        return pid
    os.waitpid(pid, 0)
    number, _, what = report.decode("utf-8", "replace").partition(" ")
    raise StartFailed(what, int(number))


def _become(
    argv: Sequence[str], cwd: str, environment: Mapping[str, str], stdin: str, writer: int
) -> None:
    what = argv[0]
    try:
        signal.set_wakeup_fd(-1)
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with contextlib.suppress(OSError):  # no terminal: nothing to be in front of
            os.tcsetpgrp(0, os.getpid())
        what = cwd
        os.chdir(cwd)
        if stdin != "tty":
            what = os.devnull if stdin == "null" else stdin
            descriptor = os.open(what, os.O_RDONLY)
            os.dup2(descriptor, 0)
        for number in RESET:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        what = argv[0]
        os.execve(argv[0], list(argv), dict(environment))  # noqa: S606 a shell would only be in between
    except OSError as error:
        os.write(writer, f"{error.errno or 0} {what}".encode("utf-8", "replace"))
    finally:
        os._exit(126)


def take_terminal_back() -> None:
    """Make this process the foreground job again, when the child is over."""
    with contextlib.suppress(OSError):
        os.tcsetpgrp(0, os.getpgrp())
