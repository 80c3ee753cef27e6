"""A shell command as the plain commands in it, or nothing where one cannot be sure. Pure.

The grammar is tree-sitter-bash's. Only literal words joined by `&&`, `||`, `;`, `|` and line ends
are understood; whatever else the shell could do with the text means that no rule may match it.
A command is read twice, by the grammar and by `shlex`, and both must give the same words.
"""

import functools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cuekit.approvals import guard

LONGEST = 32 * 1024  # characters; what is longer no rule decides
DEEPEST = 3  # wrappings of a shell in a shell
SEPARATOR = re.compile(r"[ \t]*(&&|\|\||[;|]|\n)?[ \t\n]*\Z")
PLAIN = re.compile(r"[\w./:=@%+,\-]+\Z")
LATER = ("$(", "${", "`")  # what a program that is a shell itself might still expand
JOINTS = frozenset({"program", "list", "pipeline"})
WORDS = frozenset({"word", "number", "raw_string", "string", "concatenation"})
_DOUBLE_QUOTED = re.compile(r"\\([$`\"\\])")


@dataclass(frozen=True)
class SimpleCommand:
    """One command: its words as the program gets them, and the operator before it ("" first)."""

    words: tuple[str, ...]
    before: str = ""


def parts(command: str) -> tuple[SimpleCommand, ...] | None:
    """The commands in a command line; None when it holds anything that cannot be judged.

    A wrapping such as `/bin/bash -lc '...'`, which codex puts around each command, is taken off.
    """
    for _ in range(DEEPEST):
        found = _parsed(command)
        if found is None:
            return None
        inner = _unwrapped(found)
        if inner is None:
            return found if all(guard.is_plain(one.words) for one in found) else None
        command = inner
    return None


def loose_commands(command: str) -> tuple[list[tuple[str, ...]], bool, bool]:
    """For judging a risk only: every command found anywhere in the text, as far as it goes.

    Words that are not literal are empty. Also whether something is written by a redirection, and
    whether the text could not be read as a whole.
    """
    root = _tree(command.encode("utf-8", "replace"))
    if root is None:
        return [], False, True
    found: list[tuple[str, ...]] = []
    writes, broken = False, bool(root.has_error)
    for node in _everything(root):
        if node.type == "command":
            found.append(_loose_words(node))
        elif node.type == "file_redirect":
            writes = writes or _redirect_writes(node)
        elif node.type in ("declaration_command", "unset_command"):
            broken = True
    return found, writes, broken


def shell_program(words: tuple[str, ...]) -> str | None:
    """The text that a shell is told to run by `-c`, alone or with `-l`; None for all else."""
    if len(words) != 3 or guard.name_of(words[0]) not in guard.SHELLS:
        return None
    return words[2] if words[1] in ("-c", "-lc", "-cl") else None


def _unwrapped(found: tuple[SimpleCommand, ...]) -> str | None:
    return shell_program(found[0].words) if len(found) == 1 else None


def _parsed(command: str) -> tuple[SimpleCommand, ...] | None:
    if len(command) > LONGEST or not _is_readable(command):
        return None
    source = command.encode("utf-8", "surrogatepass")
    root = _tree(source)
    if root is None or root.has_error:
        return None
    found: list[SimpleCommand] = []
    end = 0
    for node in _joined(root):
        if node is None:
            return None
        before = SEPARATOR.match(source[end : node.start_byte].decode())
        words = _words(node)
        if before is None or words is None or bool(before[1]) != bool(found):
            return None
        found.append(SimpleCommand(words, ";" if before[1] == "\n" else before[1] or ""))
        end = node.end_byte
    rest = SEPARATOR.match(source[end:].decode())
    if not found or rest is None or rest[1] not in (None, ";", "\n"):
        return None
    return tuple(found)


def _is_readable(text: str) -> bool:
    """Whether the text holds nothing that a shell and a reader may see differently."""
    return all(letter.isprintable() or letter in "\n\t" for letter in text)


@functools.cache
def _parser() -> Any:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:  # a hook that runs without its packages: a person decides
        return None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _tree(source: bytes) -> Any:
    parser = _parser()
    return parser.parse(source).root_node if parser is not None else None


def _joined(node: Any) -> Iterator[Any]:
    """The commands below the joints of a tree, in order; None for anything else."""
    for child in node.children:
        if child.type == "command":
            yield child
        elif child.type in JOINTS:
            yield from _joined(child)
        elif child.is_named:
            yield None


def _words(command: Any) -> tuple[str, ...] | None:
    """The words of a command node, read by both readers."""
    text = command.text.decode()
    try:
        again = shlex.split(text, posix=True)
    except ValueError:
        return None
    words = []
    for child in command.children:
        inner = child.children[0] if child.type == "command_name" and child.children else child
        word = _word(inner)
        if word is None or any(later in word for later in LATER):
            return None
        words.append(word)
    if words != again:
        return None
    return tuple(words)


def _word(node: Any) -> str | None:
    """What the shell makes of a literal word; None when it might make anything else of it."""
    if node.type not in WORDS:
        return None
    text: str = node.text.decode()
    match node.type:
        case "concatenation":
            pieces = [_word(child) for child in node.children]
            return None if None in pieces else "".join(piece for piece in pieces if piece)
        case "raw_string":
            return text[1:-1]
        case "string":
            plain = _DOUBLE_QUOTED.sub("", text[1:-1])
            if any(sign in plain for sign in ("$", "`", '"', "\\\n")):
                return None
            return _DOUBLE_QUOTED.sub(r"\1", text[1:-1])
        case _:
            return text if PLAIN.match(text) and not text.startswith("=") else None


def _everything(node: Any) -> Iterator[Any]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(reversed(one.children))


def _loose_words(command: Any) -> tuple[str, ...]:
    words: list[str] = []
    for child in command.children:
        if child.type in ("variable_assignment", "file_redirect", "herestring_redirect"):
            continue
        inner = child.children[0] if child.type == "command_name" and child.children else child
        words.append(_word(inner) or "")
    return tuple(words)


def _redirect_writes(node: Any) -> bool:
    """Whether a redirection makes or changes a file (`2>&1` and `>/dev/null` do not)."""
    operators = {child.type for child in node.children if not child.is_named}
    if not operators & {">", ">>", "&>", "&>>", ">|"}:
        return False
    return not node.text.decode(errors="replace").endswith("/dev/null")
