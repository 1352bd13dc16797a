"""Anthropic's Messages. `input_tokens` are the fresh ones only: cache reads and writes stand beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ..ledger import Usage
from ..script import Answer, Said
from . import Act, Event, Refusal, fresh, listed, texts

KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    429: "rate_limit_error", 529: "overloaded_error",
}
WORDS = {
    401: "invalid x-api-key",
    429: "This request would exceed your account's rate limit. Please try again later.",
    500: "Internal server error",
    529: "Overloaded",
}
WRITTEN = 307
"""How many of the prompt's tokens are said to be written to the cache."""


def said(body: Mapping) -> list[Said]:
    found: list[Said] = []
    for message in listed(body.get("messages")):
        content = message.get("content")
        blocks = listed(content)
        found += [Said("tool", "") for block in blocks if block.get("type") == "tool_result"]
        by = "user" if message.get("role") == "user" else "model"
        plain = content if isinstance(content, str) else [block for block in blocks if block.get("type") == "text"]
        found += [Said(by, text) for text in texts(plain)]
    return found


def tools(body: Mapping) -> dict[str, Mapping]:
    return {tool["name"]: tool.get("input_schema") or {} for tool in listed(body.get("tools")) if "name" in tool}


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input - usage.cached - WRITTEN,
        "cache_creation_input_tokens": WRITTEN,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    }


def whole(body: Mapping, act: Act, usage: Usage) -> dict[str, object]:
    if isinstance(act, Answer):
        block: dict[str, object] = {"type": "text", "text": act.text}
    else:
        block = {"type": "tool_use", "id": fresh("toolu_"), "name": act.name, "input": dict(act.arguments)}
    return {
        "id": fresh("msg_"), "type": "message", "role": "assistant", "model": body.get("model"), "content": [block],
        "stop_reason": "end_turn" if isinstance(act, Answer) else "tool_use", "stop_sequence": None, "usage": _usage(usage),
    }


def events(body: Mapping, act: Act, usage: Usage) -> Iterator[Event]:
    message = whole(body, act, usage)
    [block] = message["content"]
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    if isinstance(act, Answer):
        opened, delta = {**block, "text": ""}, {"type": "text_delta", "text": act.text}
    else:
        opened, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    for data in (
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": opened},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": usage.output}},
        {"type": "message_stop"},
    ):
        yield data["type"], data


def error(status: int, message: str) -> Refusal:
    request = fresh("req_")
    told = {"type": KINDS.get(status, "api_error"), "message": message or WORDS.get(status, f"status {status}")}
    return {"type": "error", "error": told, "request_id": request}, {"request-id": request}
