"""Log lines: JSON for machines, text for people at a terminal; the fields are the same."""

import json
import logging
from datetime import UTC, datetime
from typing import Literal

# What every record has anyway; whatever else is there was given as ``extra``.
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """One JSON object on one line, whatever the message contains."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class Text(logging.Formatter):
    """The message first, then its fields."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        fields = " ".join(f"{name}={value!r}" for name, value in _extra(record).items())
        line = f"{time} {record.levelname:7} {record.getMessage()} {fields}".rstrip()
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def set_up(level: str, form: Literal["json", "text"]) -> None:
    """Send all log lines to stderr in that form."""
    stream = logging.StreamHandler()
    stream.setFormatter(JsonLines() if form == "json" else Text())
    logging.basicConfig(level=level.upper(), handlers=[stream], force=True)


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
