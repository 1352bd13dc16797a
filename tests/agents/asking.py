"""Requests in each dialect as an agent makes them, and how it reads the answers: for the tests of the model server."""

from __future__ import annotations

import json
from collections.abc import Mapping

from model import Usage, marker

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}, "why": {"type": "string"}}, "required": ["command", "why"]}

DIALECTS: Mapping[str, str] = {
    "anthropic": "/v1/messages?beta=true",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/first-model:generateContent",
}


def asked(dialect: str, *texts: str, results: int = 0, tools: bool = True, stream: bool = False) -> dict[str, object]:
    """A request with these texts of the user, with results of tools after the last of them."""
    match dialect:
        case "anthropic":
            messages: list[object] = [{"role": "user", "content": [{"type": "text", "text": text}]} for text in texts]
            messages += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": marker("no")}]}] * results
            offered: list[object] = [{"name": "Bash", "input_schema": SCHEMA}, {"name": "Task", "input_schema": {}}]
            body = {"messages": messages}
        case "responses":
            items: list[object] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]} for text in texts]
            items += [{"type": "function_call_output", "call_id": "c", "output": marker("no")}] * results
            within = {"type": "namespace", "name": "agents", "tools": [{"name": "Task"}]}
            offered = [{"type": "function", "name": "shell_command", "parameters": SCHEMA}, within]
            body = {"input": items}
        case "chat":
            said: list[object] = [{"role": "user", "content": text} for text in texts]
            said += [{"role": "tool", "tool_call_id": "c", "content": marker("no")}] * results
            functions = [{"name": "bash", "parameters": SCHEMA}, {"name": "Task"}]
            offered = [{"type": "function", "function": function} for function in functions]
            body = {"messages": said, **({"stream_options": {"include_usage": True}} if stream else {})}
        case _:
            contents: list[object] = [{"role": "user", "parts": [{"text": text}]} for text in texts]
            contents += [{"role": "user", "parts": [{"functionResponse": {"name": "x", "response": {"output": marker("no")}}}]}] * results
            declared = [{"name": "run_shell_command", "parametersJsonSchema": SCHEMA}, {"name": "Task"}]
            offered = [{"functionDeclarations": declared}]
            body = {"contents": contents}
    return {"model": "first-model", **body, **({"tools": offered} if tools else {}), **({"stream": True} if stream else {})}


def counted(dialect: str, document: Mapping) -> Usage:
    """The tokens of an answer, as `harnessd usage` states them, by what the vendor's documentation says."""
    match dialect:
        case "anthropic":
            usage = document["usage"]
            read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
            return Usage(usage["input_tokens"] + read + written, read, usage["output_tokens"])
        case "responses":
            usage = document["usage"]
            return Usage(usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"], usage["output_tokens"])
        case "chat":
            usage = document["usage"]
            return Usage(usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"], usage["completion_tokens"])
        case _:
            usage = document["usageMetadata"]
            return Usage(usage["promptTokenCount"], usage["cachedContentTokenCount"], usage["candidatesTokenCount"])


def said(dialect: str, document: Mapping) -> str:
    """The text of a whole answer."""
    match dialect:
        case "anthropic":
            return document["content"][0]["text"]
        case "responses":
            return document["output"][0]["content"][0]["text"]
        case "chat":
            return document["choices"][0]["message"]["content"]
        case _:
            return document["candidates"][0]["content"]["parts"][0]["text"]


def used(dialect: str, document: Mapping) -> tuple[str, dict[str, object]]:
    """The call of a tool in a whole answer."""
    match dialect:
        case "anthropic":
            block = document["content"][0]
            return block["name"], block["input"]
        case "responses":
            item = document["output"][0]
            return item["name"], json.loads(item["arguments"])
        case "chat":
            function = document["choices"][0]["message"]["tool_calls"][0]["function"]
            return function["name"], json.loads(function["arguments"])
        case _:
            call = document["candidates"][0]["content"]["parts"][0]["functionCall"]
            return call["name"], call["args"]
