"""The prompt that a spec becomes, and what may stand in one."""

import re
import unicodedata

from cuekit.model.task import TaskSpec

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_NAMES = {0x00: "NUL", 0x07: "BEL", 0x08: "backspace", 0x1B: "ESC", 0x7F: "DEL"}

REPORTING = """\
Reporting back:
Whoever gave you this task reads what you report, with the MCP tool `report` of the server cuekit \
if you have it, else with this command (it needs no ids; never print CUEKIT_CHILD_TOKEN):
"${CUEKIT_COMMAND:-cuekit}" task report --type TYPE --message "what they should know"
TYPE is completed, failed or blocked, once, before your last answer; progress after each larger \
step; help_requested when you cannot go on without an answer: then end your turn, and the answer \
comes as your next message. Reporting does not end the task: answer as you would without it."""


def render(spec: TaskSpec) -> str:
    """The text that the agent is given: fixed sections, an empty line between them.

    An objective alone renders as exactly that objective, byte for byte.
    """
    sections = [
        spec.objective,
        _block("Context", spec.context),
        _role(spec),
        _bullets("Constraints", spec.constraints),
        _bullets("Inputs", spec.inputs),
        _block("Expected output", spec.expected_output),
        REPORTING if spec.reporting else "",
    ]
    return "\n\n".join(section for section in sections if section)


def normalised(text: str) -> str:
    """The text with CR LF as LF, and without one final line end."""
    return text.replace("\r\n", "\n").removesuffix("\n")


def text_problem(text: str) -> str | None:
    """The first character that no agent can be given, by name and place; None when there is none.

    Tab and line ends are allowed. A lone surrogate is what invalid UTF-8 was read as.
    """
    # CR LF is one line end; each pair is as long in the copy, so that places stay true
    found = _CONTROL.search(text.replace("\r\n", " \n"))
    if found is None:
        return None
    code, place = ord(found.group()), found.start() + 1
    if 0xD800 <= code <= 0xDFFF:
        return f"invalid UTF-8 at character {place}"
    if code == 0x0D:
        return f"a carriage return without a line feed (U+000D) at character {place}"
    name = _NAMES.get(code) or f"the control character {unicodedata.name(chr(code), '')}".strip()
    return f"{name} (U+{code:04X}) at character {place}"


def _block(title: str, text: str | None) -> str:
    return f"{title}:\n{text}" if text else ""


def _bullets(title: str, entries: tuple[str, ...]) -> str:
    return "\n".join([f"{title}:", *(f"- {entry}" for entry in entries)]) if entries else ""


def _role(spec: TaskSpec) -> str:
    if not spec.role:
        return ""
    return f"Role: {spec.role}" + (f"\n{spec.role_instructions}" if spec.role_instructions else "")
