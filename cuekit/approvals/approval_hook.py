"""Program of a pane's PermissionRequest hook: `python -I -S approval_hook.py RUN_FOLDER EVENT`.

The agent's JSON is on standard input; what is printed decides. Nothing printed leaves it to the
agent's own dialog, and that is what every failure comes to.
"""

import os
import sys

# Last, so that nothing beside the package can stand before the standard library. The grammar of
# commands is beside the package, or in the environment of this interpreter.
sys.path.extend(
    (
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
        os.path.join(
            os.path.dirname(os.path.dirname(sys.executable)),
            f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages",
        ),
    )
)

from cuekit.approvals.pane_inbox import serve

if __name__ == "__main__":
    raise SystemExit(serve(sys.argv[1], sys.argv[2]))
