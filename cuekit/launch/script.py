"""The shell scripts of a run folder, as text. Pure.

POSIX sh, so that the user's own shell and tmux's default-shell do not matter.
"""

_HOOK = """\
#!/bin/sh
# The agent runs this on each of its hooks, with one JSON object on standard input: drop it into
# the spool, whole. It says nothing and never fails, so that the agent is not held up.
umask 077
run=${0%/*}
spool=$run/spool
if [ -f "$run/inbox.json" ]; then
  case $1 in
  PermissionRequest) APPROVAL_HOOK;;
  esac
fi
cat >"$spool/.$$.$1" 2>/dev/null || exit 0
case $1 in
PostToolUse|PostToolUseFailure)
  # An approval that still waits for this call was given at the pane.
  for asked in "$run"/answered/*/; do
    [ -d "$asked" ] && ln "$spool/.$$.$1" "$asked$$.json" 2>/dev/null
  done ;;
esac
mv "$spool/.$$.$1" "$spool/$$.$1.json" 2>/dev/null
exit 0
"""


def quoted(text: str) -> str:
    """Text as one word of sh."""
    return "'" + text.replace("'", "'\\''") + "'"


def hook_script(python: str, approval_hook: str) -> str:
    """What the agent runs on each of its hooks; an approval may be decided by a program."""
    decide = f'exec {quoted(python)} -I -S {quoted(approval_hook)} "$run" "$1"'
    return _HOOK.replace("APPROVAL_HOOK", decide)


def launch_script(python: str, supervisor: str, run_dir: str) -> str:
    """What the pane runs: nothing of the user's is in it but paths; the environment is a file."""
    return (
        "#!/bin/sh\n"
        "# Started by tmux as the pane's process.\n"
        "cd / || exit 126\n"
        f"exec {quoted(python)} -I -S {quoted(supervisor)} {quoted(run_dir)}\n"
    )


def command_script(python: str) -> str:
    """This cuekit as a program, for the child; `-P`: nothing of the working folder is imported."""
    return f'#!/bin/sh\nexec {quoted(python)} -P -m cuekit "$@"\n'


def writer_script(python: str, writer: str, run_dir: str) -> str:
    """What pipe-pane runs: the pane's output on standard input."""
    return f"#!/bin/sh\nexec {quoted(python)} -I -S {quoted(writer)} {quoted(run_dir)}\n"


def pane_died_script(
    python: str, supervisor: str, run_dir: str, tmux: str, socket: str, session: str
) -> str:
    """What tmux runs when the pane's process has died, and when a client has left."""
    dead = f"{quoted(tmux)} -S {quoted(socket)} list-panes -t {quoted('=' + session)}"
    return (
        "#!/bin/sh\n"
        "# Settles the task if its supervisor could not, and closes the session.\n"
        f"case $({dead} -F '#{{pane_dead}}') in\n"
        f"1) exec {quoted(python)} -I -S {quoted(supervisor)} --settle {quoted(run_dir)} ;;\n"
        "esac\n"
    )
