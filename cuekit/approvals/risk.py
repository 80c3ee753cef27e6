"""How far an action reaches, told from what is asked; the worst part of it decides. Pure.

It is shown to whoever decides, and rules may name it. It is a help to a reader and no fence: a
program is judged by its name and its first words.
"""

from collections.abc import Mapping, Sequence

from cuekit.approvals import guard, shellwords
from cuekit.approvals.guard import name_set
from cuekit.model.approval import ApprovalRequest, Risk
from cuekit.model.event import Tool

ORDER = (Risk.READ, Risk.WRITE, Risk.EXECUTE, Risk.NETWORK, Risk.UNKNOWN, Risk.DESTRUCTIVE)
"""From harmless to harmful. What is not known counts for more than anything but destruction."""

OF_TOOL: Mapping[str, Risk] = {
    Tool.READ: Risk.READ,
    Tool.LIST: Risk.READ,
    Tool.SEARCH: Risk.READ,
    Tool.PLAN: Risk.READ,
    Tool.QUESTION: Risk.READ,
    Tool.WRITE: Risk.WRITE,
    Tool.EDIT: Risk.WRITE,
    Tool.TASK: Risk.EXECUTE,
    Tool.FETCH: Risk.NETWORK,
    Tool.WEB_SEARCH: Risk.NETWORK,
}

_PROGRAMS: Mapping[Risk, str] = {
    Risk.READ: (
        "ls cat head tail wc grep egrep fgrep rg ag ack fd fdfind find tree file stat du df pwd"
        " echo printf true false test [ : which type whereis whoami id groups hostname uname date"
        " cal uptime ps pgrep top free lsof env printenv locale sort uniq cut tr nl tac rev paste"
        " join comm diff cmp column fold fmt expand od xxd hexdump strings md5sum sha1sum sha256sum"
        " cksum b2sum basename dirname realpath readlink seq expr bc jq yq awk gawk mawk nawk sed"
        " less more man info tldr bat delta nproc lscpu lsblk tty sleep test cd pushd popd"
    ),
    Risk.WRITE: (
        "touch mkdir cp ln install tee chmod chown chgrp patch tar gzip gunzip bzip2 xz zstd zip"
        " unzip 7z split csplit iconv dos2unix unix2dos mktemp mkfifo rename prettier black isort"
        " gofmt rustfmt ruff clang-format ed vi vim nvim nano emacs code"
    ),
    Risk.EXECUTE: (
        "make gmake cmake ninja meson bazel gradle gradlew mvn ant sbt go cargo rustc gcc g++ cc"
        " clang javac java kotlinc dotnet msbuild swift pytest tox nox unittest mypy pylint flake8"
        " eslint tsc jest vitest mocha karma rake rspec phpunit ctest node nodejs deno bun python"
        " perl ruby php lua julia Rscript R sh bash zsh dash ksh fish eval source . exec crontab at"
        " hatch poetry pipenv uv tmux screen cuekit"
    ),
    Risk.NETWORK: (
        "curl wget http https xh ftp sftp scp rsync ssh mosh telnet nc ncat netcat socat ping dig"
        " nslookup host traceroute nmap whois openssl aws gcloud az kubectl helm terraform ansible"
        " ansible-playbook docker podman gh glab hub heroku vercel netlify fly flyctl npx pnpx"
        " bunx uvx pipx brew apt apt-get dnf yum apk pacman snap flatpak gem mail sendmail psql"
        " mysql redis-cli mongosh pulumi"
    ),
    Risk.DESTRUCTIVE: (
        "rm rmdir unlink shred dd mkfs mke2fs fdisk parted wipefs truncate kill pkill killall"
        " shutdown reboot halt poweroff init systemctl service launchctl mount umount swapoff"
        " userdel groupdel usermod passwd visudo iptables nft ufw crontab chattr dropdb"
    ),
}
OF_PROGRAM: Mapping[str, Risk] = {
    name: risk for risk, names in _PROGRAMS.items() for name in names.split()
}

_SUBCOMMANDS: Mapping[str, Mapping[Risk, str]] = {
    "git": {
        Risk.READ: (
            "status log diff show blame grep ls-files ls-tree rev-parse rev-list describe shortlog"
            " cat-file name-rev reflog help version whatchanged merge-base count-objects"
            " check-ignore for-each-ref show-ref ls-remote"
        ),
        Risk.WRITE: (
            "add commit branch tag stash merge mv init am apply cherry-pick revert notes switch"
            " worktree sparse-checkout config remote rebase"
        ),
        Risk.NETWORK: "clone fetch pull push ls-remote submodule",
        Risk.EXECUTE: "bisect difftool mergetool filter-branch hook",
        Risk.DESTRUCTIVE: "reset clean rm checkout restore gc prune filter-repo update-ref",
    },
    "npm": {
        Risk.READ: "ls list outdated view info root bin prefix why help",
        Risk.EXECUTE: "run run-script test t start stop exec x build rebuild pack",
        Risk.NETWORK: "install i ci add update upgrade audit publish login search init create",
        Risk.DESTRUCTIVE: "uninstall remove rm unpublish",
    },
    "pip": {
        Risk.READ: "list show freeze check help debug",
        Risk.NETWORK: "install download wheel index search",
        Risk.DESTRUCTIVE: "uninstall",
    },
    "cargo": {
        Risk.READ: "tree metadata locate-project version help search",
        Risk.WRITE: "fmt clean new init",
        Risk.EXECUTE: "build check test run bench doc clippy",
        Risk.NETWORK: "install add update fetch publish login",
        Risk.DESTRUCTIVE: "uninstall yank",
    },
    "go": {
        Risk.READ: "list env version doc help",
        Risk.WRITE: "fmt",
        Risk.EXECUTE: "build test run vet generate tool",
        Risk.NETWORK: "get install mod download",
        Risk.DESTRUCTIVE: "clean",
    },
}
OF_SUBCOMMAND: Mapping[str, Mapping[str, Risk]] = {
    program: {name: risk for risk, names in table.items() for name in names.split()}
    for program, table in _SUBCOMMANDS.items()
}
ALIKE = {"yarn": "npm", "pnpm": "npm", "pip3": "pip", "uv": "pip"}
DESTROYS: Mapping[str, frozenset[str]] = {
    "git": name_set("-D --force --force-with-lease -f --hard --delete -d drop prune --mirror"),
    "find": frozenset(("-delete",)),
    "rsync": frozenset(("--delete", "--delete-after", "--remove-source-files")),
    "mv": frozenset(("-f", "--force")),
    "cp": frozenset(("-f", "--force")),
    "docker": frozenset(("rm", "rmi", "prune", "kill")),
    "kubectl": frozenset(("delete", "drain")),
    "terraform": frozenset(("destroy", "apply")),
    "gh": frozenset(("delete", "close", "merge")),
    "npm": frozenset(("unpublish",)),
}
WRITES: Mapping[str, frozenset[str]] = {
    "sed": frozenset(("-i", "--in-place")),
    "sort": frozenset(("-o", "--output")),
    "find": frozenset(("-fprint", "-fprint0", "-fprintf", "-fls")),
    "tree": frozenset(("-o",)),
    "git": frozenset(("--output", "-o")),
}
TAKES_A_COMMAND = name_set(
    "sudo doas env nohup timeout gtimeout nice ionice setsid stdbuf time watch xargs command"
    " builtin exec strace flock chroot"
)


def risk_of(request: ApprovalRequest) -> Risk:
    """The risk of a request."""
    if request.tool == Tool.SHELL:
        command = request.input.get("command")
        return risk_of_command(command) if isinstance(command, str) else Risk.UNKNOWN
    if request.tool in (Tool.EDIT, Tool.WRITE) and _removes(request):
        return Risk.DESTRUCTIVE
    return OF_TOOL.get(request.tool, Risk.UNKNOWN)


def risk_of_command(command: str) -> Risk:
    """The risk of a command line, whatever its form."""
    plain = shellwords.parts(command)
    if plain is not None:
        return worst([risk_of_words(one.words) for one in plain])
    found, writes, broken = shellwords.loose_commands(command)
    risks = [_loose_risk(words, depth=0) for words in found]
    if writes:
        risks.append(Risk.WRITE)
    if broken or not risks:
        risks.append(Risk.UNKNOWN)
    return worst(risks)


def worst(risks: Sequence[Risk]) -> Risk:
    """The one that counts of several."""
    return max(risks, key=ORDER.index, default=Risk.UNKNOWN)


def at_most(risk: Risk, limit: Risk) -> bool:
    """Whether a risk is no worse than another."""
    return ORDER.index(risk) <= ORDER.index(limit)


def risk_of_words(words: Sequence[str]) -> Risk:
    """The risk of one plain command."""
    name = guard.family_of(words[0]) if words else ""
    rest = list(words[1:])
    if _has(rest, DESTROYS.get(name)):
        return Risk.DESTRUCTIVE
    risk = _by_subcommand(name, rest)
    if risk is None:
        risk = OF_PROGRAM.get(name)
    if risk is None:
        risk = Risk.EXECUTE if "/" in words[0] else Risk.UNKNOWN
    if risk is Risk.READ and _has(rest, WRITES.get(name)):
        return Risk.WRITE
    return Risk.WRITE if name == "mv" and risk is Risk.UNKNOWN else risk


def _by_subcommand(name: str, rest: Sequence[str]) -> Risk | None:
    table = OF_SUBCOMMAND.get(ALIKE.get(name, name))
    if table is None:
        return None
    if name == "uv":
        rest = rest[1:] if rest[:1] == ["pip"] else rest
    verb = next((word for word in rest if not word.startswith("-")), None)
    if verb is None:
        return Risk.READ  # only shows its help or its version
    return table.get(verb, Risk.UNKNOWN)


def _has(rest: Sequence[str], words: frozenset[str] | None) -> bool:
    if not words:
        return False
    return any(word.split("=", 1)[0] in words for word in rest)


def _loose_risk(words: Sequence[str], *, depth: int) -> Risk:
    """The risk of a command in a text that no rule may judge: what it wraps counts as well."""
    if not words or not words[0] or depth > 4:
        return Risk.UNKNOWN
    name = guard.name_of(words[0])
    inner = shellwords.shell_program(tuple(words))
    if inner is not None:
        return risk_of_command(inner)
    if name in TAKES_A_COMMAND:
        return _wrapped_risk(words[1:], depth)
    if name == "find":
        for place, word in enumerate(words):
            if word in ("-exec", "-execdir", "-ok", "-okdir"):
                return worst([Risk.READ, _loose_risk(words[place + 1 :], depth=depth + 1)])
    return risk_of_words(words)


def _wrapped_risk(rest: Sequence[str], depth: int) -> Risk:
    """The worst that a wrapped command may be: each word could be where it begins."""
    begins = [
        _loose_risk(rest[place:], depth=depth + 1)
        for place, word in enumerate(rest)
        if guard.name_of(word) in OF_PROGRAM or guard.name_of(word) in OF_SUBCOMMAND
    ]
    return worst(begins) if begins else Risk.UNKNOWN


def _removes(request: ApprovalRequest) -> bool:
    """Whether a change of files takes one away (`changes` or `kind` as the adapters give them)."""
    changes = request.input.get("changes")
    entries = changes if isinstance(changes, list) else [request.input]
    return any(
        isinstance(entry, dict) and "delete" in (entry.get("kind"), entry.get("change"))
        for entry in entries
    )
