"""Commands as plain words, and everything that makes one impossible to judge."""

import pytest

from cuekit.approvals import shellwords
from cuekit.approvals.shellwords import SimpleCommand


def words_of(command: str) -> list[list[str]] | None:
    found = shellwords.parts(command)
    return None if found is None else [list(part.words) for part in found]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls", [["ls"]]),
        ("git status -s", [["git", "status", "-s"]]),
        ("ls 'a b' \"c d\" e'f'\"g\"", [["ls", "a b", "c d", "efg"]]),
        ('grep "a\\.b \\"q\\"" f', [["grep", 'a\\.b "q"', "f"]]),
        ("head -n 5 x", [["head", "-n", "5", "x"]]),
        ("ls;\n\n pwd\n", [["ls"], ["pwd"]]),
        ("a && b || c | d ; e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("/bin/bash -lc 'ls -la'", [["ls", "-la"]]),
        ("bash -c \"git add 'my file'\"", [["git", "add", "my file"]]),
        ("zsh -lc 'sh -c \"ls -la\"'", [["ls", "-la"]]),
        ("bash run.sh fast", [["bash", "run.sh", "fast"]]),
        ("ls füße.txt", [["ls", "füße.txt"]]),
        ("sed -n 1,20p x", [["sed", "-n", "1,20p", "x"]]),
        ("awk '{print $1}' x", [["awk", "{print $1}", "x"]]),
        ("python3 -m pytest -q", [["python3", "-m", "pytest", "-q"]]),
    ],
)
def test_plain_commands_are_understood(command: str, words: list[list[str]]) -> None:
    assert words_of(command) == words


def test_the_operator_before_each_part_is_kept() -> None:
    assert shellwords.parts("a && b\nc | d") == (
        SimpleCommand(("a",)),
        SimpleCommand(("b",), "&&"),
        SimpleCommand(("c",), ";"),
        SimpleCommand(("d",), "|"),
    )


NOT_JUDGED = """\
ls > out
ls >> out
ls 2>&1
cat < in
ls &> out
cat <<< word
ls &
ls & rm x
ls |& wc
A=1 ls
A=1
export A=1
ls $HOME
ls ${HOME}
ls "$HOME"
ls $(id)
ls `id`
ls "$(id)"
ls <(id)
ls >(id)
echo $((1+1))
ls *.py
ls [ab]
ls x?
ls ~/x
ls {a,b}
ls 'a'*
ls $'a\\n'
ls $"a"
ls a\\ b
if ls; then rm x; fi
for i in a; do rm $i; done
while true; do ls; done
case a in a) ls;; esac
f() { ls; }
function f { ls; }
{ ls; }
(ls)
! ls
ls # and so on
[[ -f x ]]
coproc ls
time ls
=ls x
ls && (
ls '
ls "
ls ;; ls
ls &&
&& ls
; ls
"""


@pytest.mark.parametrize("command", NOT_JUDGED.splitlines())
def test_what_the_shell_could_read_otherwise_is_not_judged(command: str) -> None:
    assert shellwords.parts(command) is None
    assert shellwords.parts(f"git status && {command}") is None


@pytest.mark.parametrize(
    "command",
    [
        "",
        " ",
        "\n",
        "cat <<EOF\nx\nEOF",
        "ls a\rrm -rf b",  # the grammar takes a carriage return for a blank, a shell does not
        "ls a\x1b[2Kb",
        "ls a\u202eb",  # right-to-left override
        "ls a\u200bb",  # zero width space
        "ls a\xa0b",
        "ls a\x00b",
        "ls \ud800",
        "ls " + "x" * 40_000,
        "ls a\\\nb",
        "sh -c 'sh -c \"sh -c ls\"'",
    ],
)
def test_odd_texts_are_not_judged(command: str) -> None:
    assert shellwords.parts(command) is None


RUNS_ANOTHER = """\
env A=1 ls
sudo ls
nohup ls
timeout 5 ls
nice ls
xargs rm
watch ls
ssh host ls
parallel ls
script -c ls
docker run x
npx tsc
uv run pytest
npm exec tsc
find . -exec rm {} +
find . -ok ls ';'
fd -x rm
rg --pre cat x
git -c core.pager=x log
git --exec-path=/tmp status
git rebase -x ls
git rebase --exec ls
git rebase --exe ls
git clone ext::sh x
git submodule foreach ls
git bisect run ls
git fetch --upload-pack=x
git diff --ext-diff
git grep -O
tar --to-command=sh -xf x
tar -xf x -I sh
tar xIf sh x
tar --checkpoint-action=exec=sh -cf x y
sort --compress-program=sh x
split --filter=sh x
rsync -e sh a b
wget -e x
make SHELL=/bin/x
make --eval=x
go test -exec x
go run x
bash
sh -s
bash -i
bash -c ls x
bash --rcfile x
python
python -
python -c 1
python3.11 -Ic 1
python3 -c1
perl -e 1
perl -ne 1
ruby -e 1
node -e 1
node --eval=1
node -p 1
php -r 1
deno eval 1
awk 'BEGIN{system("id")}'
awk '{print > "f"}'
awk '{print | "sh"}'
awk -f x
sed 1e x
sed 's/a/b/e' x
sed 's/a/b/w f' x
sed -f x
sed -e p -e '1e id' x
vim x
less x
eval ls
. x
source x
exec ls
command ls
builtin ls
cd x
cd x && ls
alias ls=rm
hash -p x ls
printf -vPATH x
printf -v PATH x
set -x
trap ls EXIT
read x
echo '$(id)'
test -v 'a[`id`]'
"""


@pytest.mark.parametrize("command", RUNS_ANOTHER.splitlines())
def test_what_runs_another_program_is_not_judged(command: str) -> None:
    assert shellwords.parts(command) is None
    assert shellwords.parts(f"/bin/bash -lc '{command}'") is None


def test_without_the_grammar_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shellwords, "_parser", lambda: None)
    assert shellwords.parts("ls") is None
    assert shellwords.loose_commands("ls") == ([], False, True)


def test_every_command_is_found_for_the_risk() -> None:
    text = "if x; then rm -rf $A > log; fi; echo $(curl u) <<EOF\ny\nEOF"
    found, writes, broken = shellwords.loose_commands(text)
    assert (found, writes, broken) == (
        [("x",), ("rm", "-rf", ""), ("echo", ""), ("curl", "u")],
        True,
        False,
    )
