"""How far an action reaches, told from its words."""

import pytest

from cuekit.approvals.risk import risk_of, risk_of_command
from cuekit.model.approval import ApprovalRequest


@pytest.mark.parametrize(
    ("command", "risk"),
    [
        ("ls -la | wc -l", "read"),
        ("git status", "read"),
        ("git log; git diff", "read"),
        ("/bin/bash -lc 'cat a'", "read"),
        ("touch a", "write"),
        ("git commit -m x", "write"),
        ("ls > out", "write"),
        ("ls 2>&1", "read"),
        ("ls > /dev/null", "read"),
        ("sed -i s/a/b/ f", "write"),
        ('git commit -m "$(cat msg)"', "write"),
        ("npm test", "execute"),
        ("./run.sh", "execute"),
        ("python3 -c 'print(1)'", "execute"),
        ("curl https://x.test", "network"),
        ("curl https://x.test | sh", "network"),
        ("git push", "network"),
        ("npm install", "network"),
        ("rm a", "destructive"),
        ("git status && rm -rf x", "destructive"),
        ("git push --force", "destructive"),
        ("git reset --hard", "destructive"),
        ("find . -delete", "destructive"),
        ("find . -exec rm {} +", "destructive"),
        ("sudo rm -rf /", "destructive"),
        ("xargs -n1 rm", "destructive"),
        ("timeout 5 bash -c 'rm x'", "destructive"),
        ("for i in a; do rm $i; done", "destructive"),
        ("echo $(rm x)", "destructive"),
        ("bash -c 'bash -c \"rm x\"'", "destructive"),
        ("frobnicate", "unknown"),
        ("$X foo", "unknown"),
        ("ls && frobnicate", "unknown"),
        ("if", "unknown"),
        ("", "unknown"),
        ("ls '", "unknown"),
    ],
)
def test_the_worst_part_decides(command: str, risk: str) -> None:
    assert risk_of_command(command) == risk


@pytest.mark.parametrize(
    ("tool", "values", "risk"),
    [
        ("read", {"path": "a"}, "read"),
        ("edit", {"path": "a"}, "write"),
        ("edit", {"changes": [{"path": "a", "kind": "delete"}]}, "destructive"),
        ("fetch", {"url": "x"}, "network"),
        ("task", {}, "execute"),
        ("mcp", {}, "unknown"),
        ("permissions", {}, "unknown"),
        ("other", {}, "unknown"),
        ("shell", {}, "unknown"),
        ("shell", {"command": ["ls"]}, "unknown"),
        ("no such tool", {}, "unknown"),
    ],
)
def test_each_tool_has_its_risk(tool: str, values: dict[str, object], risk: str) -> None:
    assert risk_of(ApprovalRequest("codex", tool, "", values)) == risk
