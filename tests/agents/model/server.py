"""The HTTP server: one thread a connection, on the loopback only."""

from __future__ import annotations

import gzip
import json
import re
import select
import socket
import threading
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Self

from .dialects import Act, Use, anthropic, chat, gemini, responses
from .ledger import Exchange, Ledger, Usage
from .script import Answer, Call, Cut, Fail, Hang, Place, Shell, Step, called, place

GEMINI = re.compile(r"/models/([^/:]+):(stream)?[gG]enerateContent$")
BY_END: Mapping[str, ModuleType] = {"/messages": anthropic, "/responses": responses, "/chat/completions": chat}
SIDE = Answer("An errand")
"""What an errand of the agent is answered."""
UNSCRIPTED = (Answer("nothing is scripted for this"),)
LONGEST = 64 << 20
MODELS = ("first-model", "second-model")


class Model:
    """The server, from its making until `close`.

    `errands` are tools that are offered for errands alone; most errands are offered none.
    """

    def __init__(self, errands: Collection[str] = ()) -> None:
        self._errands = frozenset(errands)
        self._ledger = Ledger()
        self._scripts: dict[str, tuple[Step, ...]] = {}
        self._closed = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address, without a path: `http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, tag: str, steps: Sequence[Step]) -> None:
        """Says what the requests of `tag` are answered, one step after the other; the last one again and again.

        Of a sub-agent of it those of `TAG.sub`.
        """
        if not steps:
            raise ValueError("a script needs a step")
        self._scripts[tag] = tuple(steps)

    def served(self, tag: str) -> list[Exchange]:
        """What was asked by a run, its sub-agents and its errands, and what that was answered."""
        return self._ledger.served(tag)

    def wait_for(self, tag: str, count: int, seconds: float) -> bool:
        """Waits until a run has asked `count` times; whether it has in time."""
        return self._ledger.wait_for(tag, count, seconds)

    def close(self) -> None:
        """Ends it, and what still hangs."""
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def _step(self, at: Place) -> Step:
        steps = self._scripts.get(f"{at.tag}.sub" if at.sub else at.tag, UNSCRIPTED)
        return steps[min(at.step, len(steps) - 1)]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    model: Model

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that hangs up is no error of ours; a request that breaks the server is one of the check's."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if (self.headers.get("upgrade") or "").lower() == "websocket":
            # A client that prefers a websocket goes on without.
            self.close_connection = True
            self._document(426, {"error": {"message": "no websocket here"}}, {"connection": "close"})
        elif path.endswith("/models"):
            known = [{"id": name, "object": "model", "type": "model", "created": 1, "owned_by": "mock"} for name in MODELS]
            self._document(200, {"object": "list", "data": known, "models": []})
        else:
            self._document(200 if path == "/" else 404, {})

    do_HEAD = do_PUT = do_DELETE = do_OPTIONS = do_GET

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            return self._document(200, {"input_tokens": 5_000})
        if path.endswith(":countTokens"):
            return self._document(200, {"totalTokens": 5_000})
        streamed = bool(body.get("stream"))
        if found := GEMINI.search(path):
            dialect, streamed = gemini, bool(found[2])
        else:
            dialect = next((known for end, known in BY_END.items() if path.endswith(end)), None)
        if dialect is None:
            return self._document(404, {"error": {"message": f"the mock has no {path}"}})
        return self._answer(dialect, body, streamed)

    def _answer(self, dialect: ModuleType, body: Mapping, streamed: bool) -> None:
        at, tools = place(dialect.said(body)), dialect.tools(body)
        side = tools.keys() <= self.server.model._errands
        step = self.server.model._step(at)
        act: Act | None
        match step:
            case Fail() | Hang() | Cut():
                act = None
            case _ if side:
                act = SIDE
            case Answer():
                act = step
            case Shell() | Call():
                use = called(step, tools)
                act = Answer(f"no such tool is offered: {', '.join(tools)}") if use is None else Use(*use)
        number = self.server.model._ledger.number()
        usage = Usage.of(number)
        status = step.status if isinstance(step, Fail) else 200
        exchange = Exchange(
            n=number, at=time.monotonic(), dialect=dialect.__name__.rpartition(".")[2], path=self.path,
            headers=dict(self.headers), body=body, tag=at.tag, sub=at.sub, kind="side" if side else "turn",
            step=at.step, status=status, usage=None if act is None else usage,
        )
        self.server.model._ledger.add(exchange)
        if isinstance(step, Fail):
            document, headers = dialect.error(step.status, step.message)
            return self._document(step.status, document, {**headers, **step.headers})
        if isinstance(step, Hang):
            return self._hang()
        if act is not None and not streamed:
            return self._document(200, dialect.whole(body, act, usage))
        events = list(dialect.events(body, act or Answer("this will be cut"), usage))
        return self._stream(events[:2] if act is None else events)

    def _hang(self) -> None:
        """Waits until the other end hangs up, or the server is closed."""
        self.close_connection = True
        poll = select.poll()
        poll.register(self.connection, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        while not self.server.model._closed.is_set() and not poll.poll(100):
            pass

    def _stream(self, events: Sequence[tuple[str | None, object]]) -> None:
        self.close_connection = True
        self.send_response(200)
        for name, value in {"content-type": "text/event-stream", "cache-control": "no-cache", "connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        for event, data in events:
            text = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write(((f"event: {event}\n" if event else "") + f"data: {text}\n\n").encode())

    def _document(self, status: int, document: object, headers: Mapping[str, str] | None = None) -> None:
        text = json.dumps(document).encode()
        self.send_response(status)
        known = {"content-type": "application/json", "content-length": str(len(text))}
        for name, value in {**known, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def _body(self) -> Mapping[str, object]:
        """The request's document; an empty one where it is none."""
        if "chunked" in (self.headers.get("transfer-encoding") or "").lower():
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            raw = b"".join(pieces)
        else:
            raw = self.rfile.read(min(int(self.headers.get("content-length") or 0), LONGEST))
        match (self.headers.get("content-encoding") or "").lower():
            case "gzip":
                raw = gzip.decompress(raw)
            case "deflate":
                raw = zlib.decompress(raw)
        try:
            document = json.loads(raw)
        except ValueError:
            return {}
        return document if isinstance(document, dict) else {}
