"""OpenAI's Responses. `input_tokens` hold the cached ones."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping

from ..ledger import Usage
from ..script import Answer, Said
from . import Act, Event, fresh, listed, texts
from .chat import error

__all__ = ["error", "events", "said", "tools", "whole"]


def said(body: Mapping) -> list[Said]:
    given = body.get("input")
    if isinstance(given, str):
        return [Said("user", given)]
    found: list[Said] = []
    for item in listed(given):
        if str(item.get("type", "")).endswith("_output"):
            found.append(Said("tool", ""))
        elif item.get("type", "message") == "message":
            by = "user" if item.get("role") == "user" else "model"
            found += [Said(by, text) for text in texts(item.get("content"))]
    return found


def tools(body: Mapping) -> dict[str, Mapping]:
    """Those of a namespace are called `NAMESPACE/NAME`; a tool without a name by its type."""
    found: dict[str, Mapping] = {}
    for tool in listed(body.get("tools")):
        if tool.get("type") == "namespace":
            found |= {f"{tool.get('name')}/{each.get('name')}": each.get("parameters") or {} for each in listed(tool.get("tools"))}
        else:
            found[str(tool.get("name") or tool.get("type"))] = tool.get("parameters") or {}
    return found


def whole(body: Mapping, act: Act, usage: Usage) -> dict[str, object]:
    if isinstance(act, Answer):
        content = [{"type": "output_text", "text": act.text, "annotations": []}]
        item: dict[str, object] = {
            "type": "message", "id": fresh("msg_"), "role": "assistant", "status": "completed", "content": content,
        }
    else:
        space, _, name = act.name.rpartition("/")
        item = {
            "type": "function_call", "id": fresh("fc_"), "call_id": fresh("call_"), "name": name,
            "arguments": json.dumps(act.arguments), "status": "completed",
        }
        if space:
            item["namespace"] = space
    counted = {
        "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    }
    return {
        "id": fresh("resp_"), "object": "response", "created_at": int(time.time()), "status": "completed",
        "model": body.get("model"), "output": [item], "usage": counted, "error": None,
    }


def events(body: Mapping, act: Act, usage: Usage) -> Iterator[Event]:
    response = whole(body, act, usage)
    [item] = response["output"]
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    stages: list[dict[str, object]] = [{"type": "response.created", "response": begun}]
    if isinstance(act, Answer):
        at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        opened = {**item, "status": "in_progress", "content": []}
        stages += [
            {"type": "response.output_item.added", "output_index": 0, "item": opened},
            {"type": "response.output_text.delta", **at, "delta": act.text},
            {"type": "response.output_text.done", **at, "text": act.text},
        ]
    else:
        stages.append({"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}})
    stages += [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    for number, stage in enumerate(stages):
        yield str(stage["type"]), {**stage, "sequence_number": number}
