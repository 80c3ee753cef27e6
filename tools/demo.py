"""The main job from submit to result, each command printed before it runs.

Everything lives in a folder of the demo's own: CUEKIT_HOME, the project, the tmux server. The
exit status is 0 only when every step gave what it should.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.setup import remove_folder

GREETER = (
    'echo "ready: say something"; '
    'while read -r line; do [ "$line" = bye ] && break; echo "you said: $line"; done; '
    'echo "good bye"'
)
"""What the shell agent runs: a program that answers each line that it is given."""

COMMAND_LIMIT_S = 300
"""Seconds after which one command is given up; a real agent may think for a while."""


class StepFailed(Exception):
    """A step did not give what it should."""


class Demo:
    """One run: its folder, its environment, and the commands typed in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        self.variables = {
            "CUEKIT_HOME": str(folder / "home"),
            "CUEKIT_TMUX_SOCKET": str(folder / "tmux"),
        }
        self.environment = os.environ | self.variables
        for inherited in ("TMUX", "TMUX_PANE", "CUEKIT_TASK_ID"):
            self.environment.pop(inherited, None)

    def say(self, text: str = "") -> None:
        """Words between the commands."""
        print(text, flush=True)

    def type(self, *arguments: str, expect: str = "") -> str:
        """Print a cuekit command, run it, print and return its output; it must succeed."""
        self.say(f"$ cuekit {shlex.join(arguments)}")
        done = self.run(*arguments)
        self.say("".join(f"  {line}\n" for line in (done.stdout + done.stderr).splitlines()))
        if done.returncode != 0:
            raise StepFailed(f"that ended with status {done.returncode}")
        if expect not in done.stdout:
            raise StepFailed(f"that should have shown {expect!r}")
        return done.stdout

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a cuekit command without showing it."""
        return subprocess.run(
            ["cuekit", *arguments],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=COMMAND_LIMIT_S,
            check=False,
        )

    def view(self, task_id: str) -> dict[str, Any]:
        """What `task status` knows of the task."""
        done = self.run("task", "status", task_id, "--format", "json")
        if done.returncode != 0:
            raise StepFailed(f"task status failed: {done.stderr.strip()}")
        view: dict[str, Any] = json.loads(done.stdout)
        return view

    def newest_task(self) -> str:
        """The id of the task that was submitted last."""
        task_id: str = self.view("@last")["task_id"]
        return task_id

    def until_screen_shows(self, task_id: str, text: str, seconds: float = 15) -> None:
        """Wait for the pane to show a text."""
        seen = ""

        def shows() -> bool:
            nonlocal seen
            seen = self.run("task", "transcript", task_id, "--screen").stdout
            return text in seen

        if not within(seconds, shows):
            raise StepFailed(f"the pane did not show {text!r} within {seconds:g} s:\n{seen}")

    def close(self, keep: bool) -> None:
        """End what the demo started, and remove its folder."""
        if keep:
            self.say("kept as it is; to go on in it by hand:")
            for name, value in self.variables.items():
                self.say(f"  export {name}={shlex.quote(value)}")
            self.say(f"  cd {shlex.quote(str(self.project))}")
            return
        listed = self.run("task", "list", "--format", "json").stdout
        for task in json.loads(listed or "{}").get("tasks", []):
            self.run("task", "cancel", task["task_id"])
        socket = self.variables["CUEKIT_TMUX_SOCKET"]
        if Path(socket).exists():
            command = ["tmux", "-S", socket, "kill-server"]
            subprocess.run(command, capture_output=True, timeout=10, check=False)
        remove_folder(self.folder)


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether a condition comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.1)
    return True


def show_shell(demo: Demo) -> None:
    """The main job on the shell agent: its objective is a command line of one's own."""
    demo.say("1. hand a task to a child in a tmux pane of its own")
    demo.type("task", "submit", "--agent-kind", "shell", GREETER)
    task_id = demo.newest_task()
    demo.say("2. watch it live: `attach` opens the pane itself, `--screen` shows what is in it")
    demo.type("task", "attach", task_id, "--print", expect=task_id)
    demo.until_screen_shows(task_id, "ready: say something")
    demo.type("task", "transcript", task_id, "--screen", expect="ready: say something")
    demo.say("3. steer it: the text reaches the child as if it had been typed there")
    demo.type("task", "steer", task_id, "hello from another terminal")
    demo.until_screen_shows(task_id, "you said: hello from another terminal")
    demo.type("task", "transcript", task_id, "--screen", expect="you said: hello")
    demo.type("task", "list", expect=task_id)
    demo.say("4. wait for its end, which comes when it is told `bye`")
    demo.type("task", "steer", task_id, "bye")
    demo.type("task", "wait", task_id, "--until", "terminal", "--timeout", "30s")
    demo.say("5. what came of it")
    demo.type("task", "result", task_id, expect="completed")
    demo.type("task", "transcript", task_id, expect="good bye")
    view = demo.view(task_id)
    if (view["status"], view["exit_code"]) != ("completed", 0):
        raise StepFailed(f"the task is {view['status']} with exit code {view['exit_code']}")
    demo.say("6. tidy up")
    demo.type("task", "delete", task_id)


def show_supervised(demo: Demo) -> None:
    """A supervised task with an approval in it, on a scripted agent that needs no account."""
    home = Path(demo.variables["CUEKIT_HOME"])
    home.mkdir(mode=0o700, exist_ok=True)
    root = Path(__file__).resolve().parents[1]
    program = (
        f"import sys; sys.path.insert(0, {str(root)!r}); from tools.demo_agent import main; main()"
    )
    command = json.dumps([sys.executable, "-c", program])
    settings = f"adapters:\n  demo:\n    protocol: acp\n    command: {command}\n"
    (home / "config.yaml").write_text(settings, encoding="utf-8")
    demo.say(
        "7. supervise an agent: here one that speaks ACP and is scripted, so it needs no model"
    )
    demo.type("task", "submit", "--agent-kind", "demo", "--mode", "supervised", "make a file")
    task_id = demo.newest_task()
    demo.say("8. it asks before it acts; whoever decides, in the pane or in any shell, it is kept")
    demo.type("task", "wait", task_id, "--until", "approval", "--timeout", "60s")
    listed = json.loads(demo.run("approval", "list", "--format", "json").stdout)
    (asked,) = listed["approvals"]
    demo.type("approval", "show", asked["approval_id"], expect="demo.txt")
    if (demo.project / "demo.txt").exists():
        raise StepFailed("it acted before anybody allowed it")
    demo.type("approval", "allow", asked["approval_id"])
    demo.type("task", "wait", task_id, "--until", "idle", "--timeout", "60s")
    if not (demo.project / "demo.txt").exists():
        raise StepFailed("it was allowed to write demo.txt and did not")
    demo.say("9. steer it over its protocol, and have the answer")
    demo.type(
        "task", "steer", task_id, "--wait", "--timeout", "60s", "thank you", expect="thank you"
    )
    demo.say("10. what was decided, and by whom, is on record")
    demo.type("task", "events", task_id, "--kind", "approval_resolved", expect="allow")
    demo.type("task", "finish", task_id)
    demo.type("task", "result", task_id, expect="completed")
    demo.type("task", "delete", task_id)


def show_agent(demo: Demo, kind: str) -> None:
    """The main job on an agent that is installed and signed in; it is asked two words."""
    careful = json.dumps({"dangerously_skip_permissions": False})
    demo.say(f"1. hand a task to {kind}, which asks before it acts (see docs/permissions.md)")
    demo.type(
        *("task", "submit", "--agent-kind", kind, "--trust", "--adapter-options", careful),
        "Answer with one word: ready",
    )
    task_id = demo.newest_task()
    demo.say("2. watch it live, and wait until it has answered")
    demo.type("task", "attach", task_id, "--print", expect=task_id)
    demo.type("task", "wait", task_id, "--timeout", "120s")
    demo.type("task", "transcript", task_id, "--screen")
    if demo.view(task_id)["activity"] == "waiting_input" and sys.stdin.isatty():
        demo.say(f"   {kind} asks something of its own first: attach from another terminal, with")
        demo.say("   the command above, and answer it; cuekit never does that for you")
        demo.type("task", "wait", task_id, "--until", "idle", "--timeout", "280s")
    view = demo.view(task_id)
    if view["activity"] != "idle":
        raise StepFailed(
            f"{kind} is {view['status']}, {view['activity']}, and not idle after its answer; "
            "on a terminal, or with --keep, you can attach to it and see what it asks"
        )
    demo.say("3. steer it, and have the answer")
    message = "Now answer with one word: steered"
    demo.type("task", "steer", task_id, "--wait", "--timeout", "120s", message)
    demo.say("4. end it politely, and see what came of it")
    demo.type("task", "finish", task_id)
    demo.type("task", "result", task_id, expect="completed")
    demo.type("task", "transcript", task_id, "--tail", "20")
    demo.say("5. tidy up")
    demo.type("task", "delete", task_id)


def main() -> int:
    """Command line entry; the exit status."""
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--agent-kind", default="shell", help="shell, or an installed agent")
    parser.add_argument("--keep", action="store_true", help="leave the demo's folder and tmux")
    options = parser.parse_args()
    # /tmp, not TMPDIR: the path of a tmux socket may have no more than about 100 bytes.
    demo = Demo(Path(tempfile.mkdtemp(prefix="cuekit-demo-", dir="/tmp")))
    demo.say(f"in {demo.project}, with a CUEKIT_HOME and a tmux server of the demo's own\n")
    try:
        if options.agent_kind == "shell":
            show_shell(demo)
            show_supervised(demo)
        else:
            show_agent(demo, options.agent_kind)
    except StepFailed as error:
        demo.say(f"demo: failed: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    except subprocess.TimeoutExpired as error:
        demo.say(f"demo: failed: no end after {error.timeout:g} s")
        return 1
    finally:
        demo.close(options.keep)
    demo.say("demo: every step gave what it should. To go on by hand:")
    path = shlex.quote(str(Path(sys.executable).parent))
    demo.say(f'  export PATH={path}:"$PATH"')
    demo.say(f"  cuekit task submit --agent-kind shell {shlex.quote(GREETER)}")
    demo.say("  cuekit task --help")
    return 0


if __name__ == "__main__":
    sys.exit(main())
