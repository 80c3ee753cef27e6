"""What a message to an agent may hold. Pure."""

import unicodedata

from cuekit.errors import InvalidInput

LARGEST_BYTES = 1_000_000
ALLOWED_CONTROLS = "\n\t"
NAMES = {
    0x00: "NULL",
    0x07: "BELL",
    0x08: "BACKSPACE",
    0x1B: "ESCAPE",
    0x7F: "DELETE",
    0x9B: "CONTROL SEQUENCE INTRODUCER",
}


def checked(text: str) -> str:
    """The message as it is delivered: lines end in LF, one trailing line end is dropped.

    Raises InvalidInput: `empty_message`, `invalid_utf8`, `control_character` (which names the
    first one and its place, counted from 1), `message_too_long`.
    """
    message = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")
    if not message.strip():
        raise InvalidInput("the message is empty", code="empty_message")
    for place, character in enumerate(message, start=1):
        if character in ALLOWED_CONTROLS:
            continue
        kind = unicodedata.category(character)
        if kind == "Cs":
            raise InvalidInput(
                f"the message is not valid UTF-8 at character {place}", code="invalid_utf8"
            )
        if kind == "Cc":
            raise InvalidInput(
                f"the message holds {_name(character)} at character {place};"
                " a terminal would act on it",
                code="control_character",
                hint="remove it, or name a file that holds the text",
                details={"character": f"U+{ord(character):04X}", "position": place},
            )
    size = len(message.encode("utf-8"))
    if size > LARGEST_BYTES:
        raise InvalidInput(
            f"the message has {size} bytes; at most {LARGEST_BYTES} can be sent",
            code="message_too_long",
            hint="put it in a file and name the file",
            details={"bytes": size, "limit": LARGEST_BYTES},
        )
    return message


def _name(character: str) -> str:
    number = ord(character)
    name = NAMES.get(number, f"CONTROL-{chr(number + 64)}" if number < 32 else "CONTROL CHARACTER")
    return f"U+{number:04X} {name}"
