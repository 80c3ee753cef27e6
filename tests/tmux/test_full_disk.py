"""A supervised run whose disk is full: nothing is allowed for it, and nothing that matters is lost.

The disk is a small tmpfs in a namespace of the test's own. Where the kernel makes none, a limit on
the size of files takes its place.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_own_agents import SETTINGS
from tests.support.tmux import TmuxServer

ROOT = Path(__file__).resolve().parents[2]
DRIVER = """
import json, os, resource, signal, subprocess, sys, time
home, project, socket, which, real = sys.argv[1:6]
small = home if which == "home" else project
if real == "tmpfs":
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "none", small], check=True)
os.makedirs(home, exist_ok=True)
os.makedirs(project, exist_ok=True)
open(home + "/config.yaml", "w").write(sys.argv[6])
env = {"PATH": os.environ["PATH"], "HOME": project, "LANG": "C.UTF-8", "CUEKIT_HOME": home,
       "CUEKIT_TMUX_SOCKET": socket}

def cuekit(*words, ok=True):
    command = [sys.executable, "-m", "cuekit", *words, "--format", "json"]
    done = subprocess.run(command, env=env, cwd=project, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 or not ok, done.stderr
    return json.loads(done.stdout or done.stderr)

def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, screen()
        time.sleep(0.05)

def tmux(*words):
    done = subprocess.run(["tmux", "-S", socket, *words], env=env, capture_output=True, text=True)
    return done.stdout

def screen():
    return tmux("capture-pane", "-p", "-S", "-200", "-t", "=cuekit-task-" + task + ":")

def fill():
    if real == "tmpfs":
        try:
            with open(small + "/filler", "wb", buffering=0) as file:
                while True:
                    file.write(b"x" * 512)
        except OSError:
            pass
        return
    for name in os.listdir("/proc"):
        try:
            words = open("/proc/%s/cmdline" % name, "rb").read().split(b"\\0")
        except (OSError, ValueError):
            continue
        if b"cuekit.sidecar" in words and task.encode() in words:
            resource.prlimit(int(name), resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))

made = cuekit("task", "submit", "--agent-kind", "demo", "hello")
task = made["task_id"]
cuekit("task", "wait", task, "--until", "idle", "--timeout", "30s")
pane = "=cuekit-task-" + task + ":"
fill()
tmux("send-keys", "-l", "-t", pane, "please make a file")
tmux("send-keys", "-t", pane, "Enter")
if which == "home" or real == "limit":  # the limit holds for every file of the sidecar
    until(lambda: "Then I leave it." in screen())
else:
    cuekit("task", "wait", task, "--until", "approval", "--timeout", "30s")
    (asked,) = cuekit("approval", "list")["approvals"]
    cuekit("approval", "deny", asked["approval_id"])
    until(lambda: "Then I leave it." in screen())
shown = screen()
if real == "tmpfs":
    os.unlink(small + "/filler")
    if which == "project":  # kept in memory, and written once there is room
        until(lambda: "approval_resolved" in open(made["task_dir"] + "/events.jsonl").read())
print(json.dumps({
    "made": os.path.exists(project + "/demo.txt"),
    "screen": "\\n".join(line for line in shown.split("\\n") if line.strip()),
    "end": cuekit("task", "cancel", task)["status"],
}))
"""


def can_mount() -> bool:
    """Whether this user may have a namespace with a file system of its own."""
    command = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("which", ["home", "project"])
def test_nothing_is_allowed_and_the_run_goes_on(
    tmp_path: Path, tmux_server: TmuxServer, which: str
) -> None:
    folders = [tmp_path / "home", tmp_path / "project"]
    for folder in folders:
        folder.mkdir(mode=0o700)
    real = "tmpfs" if can_mount() else "limit"
    command = [sys.executable, "-c", DRIVER, *map(str, folders), str(tmux_server.socket), which]
    command += [real, json.dumps(SETTINGS)]
    if real == "tmpfs":
        command = ["unshare", "-rm", *command]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert (found["made"], found["end"]) == (False, "cancelled"), found["screen"]
    if which == "home" or real == "limit":
        assert "nobody could be asked" in found["screen"]
