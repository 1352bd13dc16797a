"""OpenAI's Chat Completions. `prompt_tokens` hold the cached ones; a stream states them where that is asked for."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping

from ..ledger import Usage
from ..script import Answer, Said
from . import Act, Event, Refusal, fresh, listed, texts

ERRORS = {
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("permission_error", None),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", None),
    503: ("server_error", None),
}
WORDS = {
    401: "Incorrect API key provided: none. You can find your API key at https://platform.openai.com/account/api-keys.",
    429: "Rate limit reached for requests. Limit: 3 / min. Please try again in 20s.",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "The engine is currently overloaded, please try again later",
}


def said(body: Mapping) -> list[Said]:
    found: list[Said] = []
    for message in listed(body.get("messages")):
        role = message.get("role")
        if role == "tool":
            found.append(Said("tool", ""))
        else:
            found += [Said("user" if role == "user" else "model", text) for text in texts(message.get("content"))]
    return found


def tools(body: Mapping) -> dict[str, Mapping]:
    offered = (tool.get("function") or {} for tool in listed(body.get("tools")))
    return {tool["name"]: tool.get("parameters") or {} for tool in offered if "name" in tool}


def _usage(usage: Usage) -> dict[str, object]:
    return {
        "prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def _message(act: Act) -> dict[str, object]:
    if isinstance(act, Answer):
        return {"role": "assistant", "content": act.text}
    function = {"name": act.name, "arguments": json.dumps(act.arguments)}
    call = {"index": 0, "id": fresh("call_"), "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _end(act: Act) -> str:
    return "stop" if isinstance(act, Answer) else "tool_calls"


def _head(body: Mapping, kind: str) -> dict[str, object]:
    return {"id": fresh("chatcmpl-"), "object": kind, "created": int(time.time()), "model": body.get("model")}


def whole(body: Mapping, act: Act, usage: Usage) -> dict[str, object]:
    choice = {"index": 0, "message": _message(act), "finish_reason": _end(act)}
    return {**_head(body, "chat.completion"), "choices": [choice], "usage": _usage(usage)}


def events(body: Mapping, act: Act, usage: Usage) -> Iterator[Event]:
    head = _head(body, "chat.completion.chunk")

    def chunk(delta: Mapping, end: str | None = None) -> Event:
        return None, {**head, "choices": [{"index": 0, "delta": dict(delta), "finish_reason": end}]}

    message = _message(act)
    yield chunk({"role": "assistant", "content": ""})
    yield chunk({"content": act.text} if isinstance(act, Answer) else {"tool_calls": message["tool_calls"]})
    yield chunk({}, _end(act))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield None, {**head, "choices": [], "usage": _usage(usage)}
    yield None, "[DONE]"


def error(status: int, message: str) -> Refusal:
    kind, code = ERRORS.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    told = {"message": message or WORDS.get(status, f"status {status}"), "type": kind, "param": None, "code": code}
    return {"error": told}, {"x-request-id": fresh("req_")}
