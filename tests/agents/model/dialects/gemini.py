"""Google's generateContent. `promptTokenCount` holds the cached ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from ..ledger import Usage
from ..script import Answer, Said
from . import Act, Event, Refusal, fresh, listed

STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE",
}
WORDS = {
    401: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid"
    " authentication credential.",
    429: "Resource has been exhausted (e.g. check quota).",
    500: "An internal error has occurred.",
    503: "The model is overloaded. Please try again later.",
}


def said(body: Mapping) -> list[Said]:
    found: list[Said] = []
    for content in listed(body.get("contents")):
        by = "user" if content.get("role", "user") == "user" else "model"
        for part in listed(content.get("parts")):
            if "functionResponse" in part:
                found.append(Said("tool", ""))
            elif isinstance(part.get("text"), str):
                found.append(Said(by, part["text"]))
    return found


def tools(body: Mapping) -> dict[str, Mapping]:
    declared = (each for tool in listed(body.get("tools")) for each in listed(tool.get("functionDeclarations")))
    return {each["name"]: each.get("parametersJsonSchema") or each.get("parameters") or {} for each in declared}


def whole(body: Mapping, act: Act, usage: Usage) -> dict[str, object]:
    if isinstance(act, Answer):
        part: dict[str, object] = {"text": _fitting(body, act.text)}
    else:
        part = {"functionCall": {"name": act.name, "args": dict(act.arguments)}}
    counted = {
        "promptTokenCount": usage.input, "cachedContentTokenCount": usage.cached, "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.input + usage.output,
    }
    candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": counted, "responseId": fresh("r"), "modelVersion": "mock"}


def events(body: Mapping, act: Act, usage: Usage) -> Iterator[Event]:
    yield None, whole(body, act, usage)


def error(status: int, message: str) -> Refusal:
    told = message or WORDS.get(status, f"status {status}")
    return {"error": {"code": status, "message": told, "status": STATUSES.get(status, "INTERNAL")}}, {}


def _fitting(body: Mapping, text: str) -> str:
    """The text; or, where an errand asks for a document of a given shape, one of that shape."""
    settings = body.get("generationConfig") or {}
    schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
    if not schema:
        return text
    values = {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}
    filled = {
        name: (property.get("enum") or [values.get(str(property.get("type", "string")).lower(), text)])[0]
        for name, property in (schema.get("properties") or {}).items()
    }
    return json.dumps(filled)
