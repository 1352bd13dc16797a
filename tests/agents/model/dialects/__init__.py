"""The dialects that agents speak: one module each, with the same functions.

    said(body)                       the conversation, as a list of `Said`
    tools(body)                      the offered tools: name -> schema of the arguments
    whole(body, act, usage)          the answer as one document
    events(body, act, usage)         the same as (event, data) of a stream; `event` may be None
    error(status, message)           an error as the vendor sends it: its body, and headers; no message: the vendor's words

An act is what a step comes to: an `Answer`, or a `Use` of a tool that is offered.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..script import Answer


@dataclass(frozen=True)
class Use:
    """A call of a tool."""

    name: str
    arguments: Mapping[str, object]


Act = Answer | Use
Event = tuple[str | None, object]
Refusal = tuple[dict[str, object], dict[str, str]]


def fresh(prefix: str) -> str:
    """An id as vendors give them."""
    return prefix + uuid.uuid4().hex[:24]


def texts(content: object) -> Iterator[str]:
    """The texts in the content of a message: a string, or a list of blocks."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, str):
                yield block
            elif isinstance(block, Mapping) and isinstance(block.get("text"), str):
                yield block["text"]


def listed(value: object) -> list[Mapping]:
    """The objects of a list, of what a request has in it."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
