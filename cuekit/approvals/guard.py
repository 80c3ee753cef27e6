"""Commands that a rule may not judge by their words, since they run a program of their own. Pure.

The kinds: programs whose arguments are another command; interpreters that are given their program
as an argument or on standard input; tools with options that name a program; shell builtins that
change what later words mean. The tables lean to the safe side: a person is asked once more.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


def name_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


SHELLS = name_set("sh bash zsh dash ksh mksh ash fish csh tcsh")
WRAPPERS = name_set(
    "env sudo doas su runuser pkexec nohup timeout gtimeout nice ionice chrt taskset setsid setpriv"
    " stdbuf unbuffer time watch xargs parallel chroot unshare nsenter bwrap firejail systemd-run"
    " strace ltrace gdb lldb valgrind perf script expect screen tmux zellij at batch crontab flock"
    " entr ssh mosh telnet nc ncat netcat socat rlwrap busybox toybox caffeinate arch linux32"
    " setarch proot fakeroot start-stop-daemon dbus-run-session xvfb-run psql mysql sqlite3"
    " npx pnpx bunx uvx pipx"
    " docker podman nerdctl kubectl oc osascript open xdg-open newgrp sg dtach reptyr ld.so"
)
"""Their arguments are, or may be, a command for this or another machine."""

EDITORS = name_set("vi vim nvim view ex ed emacs emacsclient nano pico joe less more most man info")
"""Interactive, and each can start a shell."""

BUILTINS = name_set(
    "eval source . exec command builtin coproc trap alias unalias set shopt setopt unsetopt enable"
    " hash export declare typeset local readonly unset let read mapfile readarray getopts shift"
    " return exit logout break continue bind complete compgen compopt fc history jobs fg bg disown"
    " suspend wait umask ulimit caller dirs pushd popd cd chdir emulate autoload zmodload noglob"
    " nocorrect functions times if then else elif fi for while until do done case esac select"
    " function in ! { } [[ ]]"
)
"""They change the shell itself, its folder included, or run what they are given."""

INTERPRETERS: Mapping[str, str] = {
    # name: letters of options that take a program's text, or load code from elsewhere
    "python": "c",
    "pypy": "c",
    "perl": "eEMmIxdi",
    "ruby": "erIx",
    "node": "epr",
    "nodejs": "epr",
    "deno": "",
    "bun": "e",
    "php": "rBREFd",
    "lua": "el",
    "luajit": "el",
    "tclsh": "",
    "Rscript": "e",
    "R": "e",
    "julia": "eEL",
    "ghc": "e",
    "racket": "e",
    "guile": "c",
    "groovy": "e",
    "swift": "e",
}
LONG_PROGRAM_OPTIONS = name_set(
    "--eval --print --require --import --loader --experimental-loader --run --exec --command"
    " --init-file --rcfile --cmd"
)


@dataclass(frozen=True)
class Tool:
    """Options of a tool that name a program, and sub-commands that run one."""

    long: frozenset[str] = frozenset()  # an abbreviation counts as well
    short: str = ""  # letters, anywhere in a cluster
    words: frozenset[str] = frozenset()
    assigns: bool = False  # NAME=VALUE among the arguments changes what is run


TOOLS: Mapping[str, Tool] = {
    "find": Tool(words=name_set("-exec -execdir -ok -okdir")),
    "fd": Tool(name_set("--exec --exec-batch"), "xX"),
    "fdfind": Tool(name_set("--exec --exec-batch"), "xX"),
    "rg": Tool(name_set("--pre --hostname-bin"), ""),
    "git": Tool(
        name_set(
            "--exec --exec-path --upload-pack --receive-pack --extcmd --open-files-in-pager"
            " --config --config-env --ext-diff --textconv --template --paginate --git-dir"
            " --work-tree --namespace --super-prefix --gpg-sign --web --strategy --tool"
        ),
        "cCxuO",
        name_set(
            "filter-branch difftool mergetool send-email daemon instaweb gui citool bisect"
            " submodule foreach credential shell upload-pack receive-pack hook help maintenance"
        ),
    ),
    "gh": Tool(words=name_set("alias extension codespace api")),
    "hg": Tool(name_set("--config --config-file --rsh --ssh --remotecmd --cwd --repository"), "eR"),
    "svn": Tool(name_set("--config-option --diff-cmd --diff3-cmd --editor-cmd --config-dir")),
    "tar": Tool(
        name_set(
            "--to-command --use-compress-program --checkpoint-action --info-script --rsh-command"
            " --new-volume-script --rmt-command"
        ),
        "IF",
    ),
    "rsync": Tool(name_set("--rsh --rsync-path --daemon"), "e"),
    "scp": Tool(short="SoF"),
    "sftp": Tool(short="SoFbD"),
    "wget": Tool(name_set("--use-askpass --execute --config"), "e"),
    "curl": Tool(name_set("--config"), "K"),
    "zip": Tool(name_set("--unzip-command"), "T"),
    "7z": Tool(),
    "sort": Tool(name_set("--compress-program")),
    "split": Tool(name_set("--filter")),
    "make": Tool(name_set("--eval --file --makefile --directory"), "fCE", assigns=True),
    "gmake": Tool(name_set("--eval --file --makefile --directory"), "fCE", assigns=True),
    "cmake": Tool(short="PEDC"),
    "ninja": Tool(short="fCt"),
    "go": Tool(words=name_set("run generate -exec -toolexec -vettool -overlay tool")),
    "cargo": Tool(name_set("--config --manifest-path"), "ZC", name_set("run install fix")),
    "npm": Tool(
        name_set("--script-shell --prefix --node-options --userconfig --globalconfig"),
        "",
        name_set("exec x explore edit init create config set"),
    ),
    "pnpm": Tool(name_set("--script-shell --dir"), "C", name_set("exec dlx create config")),
    "yarn": Tool(name_set("--script-shell --cwd"), "", name_set("exec dlx create config node")),
    "bundle": Tool(words=name_set("exec console open")),
    "poetry": Tool(name_set("--directory --project"), "CP", name_set("run shell")),
    "pipenv": Tool(words=name_set("run shell open")),
    "uv": Tool(name_set("--directory --project --config-file"), "", name_set("run tool x")),
    "rye": Tool(words=name_set("run")),
    "hatch": Tool(words=name_set("run shell test")),
    "conda": Tool(words=name_set("run")),
    "mamba": Tool(words=name_set("run")),
    "tox": Tool(name_set("--override"), "cx"),
    "nox": Tool(name_set("--noxfile"), "f"),
    "pytest": Tool(name_set("--rootdir --confcutdir --override-ini --config-file"), "pco"),
    "ip": Tool(words=name_set("exec netns -batch vrf"), short="b"),
    "gcc": Tool(name_set("--wrapper"), "B", name_set("-wrapper")),
    "zcat": Tool(),
    "tcpdump": Tool(short="zw"),
    "dpkg": Tool(name_set("--pre-invoke --post-invoke --root --instdir")),
    "apt": Tool(name_set("--option --config-file"), "oc"),
    "apt-get": Tool(name_set("--option --config-file"), "oc"),
    "pip": Tool(name_set("--python --config-settings")),
    "jq": Tool(name_set("--from-file --library-path"), "fL"),
    "yq": Tool(name_set("--from-file"), ""),
    "bat": Tool(name_set("--pager"), ""),
    "delta": Tool(name_set("--pager"), ""),
    "ag": Tool(name_set("--pager"), ""),
    "column": Tool(),
    "date": Tool(),
}

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*[+:?]?=")
_VERSIONED = re.compile(r"([A-Za-z]+?)[\d.]*(?:\.exe)?\Z")
_SED_SCRIPT = re.compile(
    r"(?:\d+|\$)?(?:,(?:\d+|\$))?(?:[pdq=]|s([/|#,])(?:(?!\1)[^\\;\n]|\\.)*\1"
    r"(?:(?!\1)[^\\;\n]|\\.)*\1[gIip0-9]*)\Z"
)
_SED_OPTIONS = re.compile(r"-[nErsz]+\Z|-i\Z|--(?:quiet|silent|regexp-extended|in-place)\Z")


def name_of(word: str) -> str:
    """The name of a program, without its folder."""
    return word.rsplit("/", 1)[-1]


def family_of(word: str) -> str:
    """The name of a program without folder and version: `python3.11` is `python`."""
    name = name_of(word)
    found = _VERSIONED.match(name)
    return found[1] if found and found[1] in INTERPRETERS else name


def is_plain(words: Sequence[str]) -> bool:
    """Whether a command does what its own name says, and runs nothing that its words name."""
    name = name_of(words[0]) if words else ""
    if not name or name in WRAPPERS or name in EDITORS or name in BUILTINS:
        return False
    if _ASSIGNMENT.match(words[0]) or words[0].startswith("-"):
        return False
    return _check_of(name)(words[1:])


def is_cuekit(words: Sequence[str]) -> bool:
    """Whether a command is, or may be, cuekit itself: by name, by path, or as a module."""
    name = name_of(words[0]).lower()
    if name.startswith("cuekit"):
        return True
    if family_of(words[0]) not in INTERPRETERS and name not in SHELLS:
        return False
    pieces = [piece for word in words[1:] for piece in word.lower().split("/")]
    return any(piece.removeprefix("-m").split(".", 1)[0] == "cuekit" for piece in pieces)


def _check_of(name: str) -> Callable[[Sequence[str]], bool]:
    family = family_of(name)
    if name in SHELLS:
        return lambda rest: bool(rest) and not rest[0].startswith(("-", "+")) and bool(rest[0])
    if family in INTERPRETERS:
        return lambda rest: _plain_interpreter(INTERPRETERS[family], rest)
    if name in ("awk", "gawk", "mawk", "nawk", "original-awk"):
        return _plain_awk
    if name in ("sed", "gsed"):
        return _plain_sed
    if name == "printf":
        return lambda rest: not rest or not rest[0].startswith("-v")
    tool = TOOLS.get(name)
    if tool is None:
        return lambda rest: True
    return lambda rest: _plain_tool(tool, rest, old_style=name == "tar")


def _plain_interpreter(letters: str, rest: Sequence[str]) -> bool:
    """Its program is a file or a module, named before anything else is."""
    for word in rest:
        if word == "-":
            return False
        if not word.startswith("-"):
            return word not in ("eval", "repl", "x", "exec")  # of deno and bun
        if word.startswith("--"):
            if word.split("=", 1)[0] in LONG_PROGRAM_OPTIONS:
                return False
            if word == "--version":
                return True
        elif any(letter in word[1:] for letter in letters):
            return False
        elif word in ("-m", "-V", "-v") or word.startswith("-m"):
            return True
    return False


def _plain_tool(tool: Tool, rest: Sequence[str], *, old_style: bool) -> bool:
    for place, word in enumerate(rest):
        option = word.split("=", 1)[0]
        if word in tool.words or word.startswith("ext::"):
            return False
        if word.startswith("--") and len(option) > 2:
            if any(name.startswith(option) for name in tool.long):
                return False
        elif (word.startswith("-") or (old_style and place == 0)) and any(
            letter in word for letter in tool.short
        ):
            return False
        if tool.assigns and _ASSIGNMENT.match(word):
            return False
    return True


def _plain_awk(rest: Sequence[str]) -> bool:
    """A program that only prints: no file, no pipe, no call of another program."""
    for word in rest:
        if word.startswith("-") and not re.match(r"-F.?\Z|-F\\?.\Z", word):
            return False
        if any(sign in word for sign in ("system", "|", ">", "getline", "@")):
            return False
    return True


def _plain_sed(rest: Sequence[str]) -> bool:
    """One script of a known harmless form; `e`, `w` and `s///e` run programs and write files."""
    words = [word for word in rest if not _SED_OPTIONS.match(word)]
    if any(word.startswith("-") for word in words):
        return False
    return bool(words) and _SED_SCRIPT.match(words[0]) is not None
