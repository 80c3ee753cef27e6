"""`python -I -S hook_runner.py`: what one event does of a task that has ended.

For a task that another process settled in the place of its supervisor. Standard input is a JSON
object of the launch plan and of what a hook is told.
"""

import json
import os
import sys


def main() -> None:
    """Run it in a child that nobody waits for."""
    if os.fork():
        return
    os.setsid()
    given = json.load(sys.stdin.buffer)
    # Last, so that nothing beside the package can stand before the standard library.
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.append(root)
    from cuekit.launch import hooks
    from cuekit.launch.plan import LaunchPlan

    hooks.run(LaunchPlan(**given["plan"]), given["values"], os.environ)


if __name__ == "__main__":
    main()
