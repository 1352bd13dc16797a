"""The model server by itself: what each dialect is asked and answered, and what is known of it afterwards."""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
import unittest
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from asking import DIALECTS, asked, counted, said, used
from model import Answer, Call, Cut, Exchange, Fail, Hang, Model, Shell, Usage, marker
from model.ledger import MOST
from model.script import NOBODY, Said, called, place

SECONDS = 5


class Served(unittest.TestCase):
    """A test with a server."""

    def setUp(self) -> None:
        self.model = Model()
        self.addCleanup(self.model.close)

    def connection(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self.model.url.removeprefix("http://"), timeout=SECONDS)
        self.addCleanup(connection.close)
        return connection

    def request(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Mapping[str, str], str]:
        connection = self.connection()
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()

    def post(self, path: str, body: object) -> dict:
        status, _, text = self.request("POST", path, body)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def streamed(self, path: str, body: object) -> list[tuple[str | None, object]]:
        """The events of a stream."""
        status, headers, text = self.request("POST", path, body)
        self.assertEqual((status, headers["content-type"]), (200, "text/event-stream"))
        found = []
        for event in text.strip().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in event.split("\n"))
            data = fields["data"]
            found.append((fields.get("event"), data if data == "[DONE]" else json.loads(data)))
        return found

    def numbers(self, tag: str) -> list[Usage]:
        return [exchange.usage for exchange in self.model.served(tag) if exchange.usage is not None]


class Dialects(Served):
    def test_a_script_is_answered_step_by_step_and_its_end_again_and_again(self) -> None:
        for dialect, path in DIALECTS.items():
            with self.subTest(dialect):
                tag = f"steps-{dialect}"
                self.model.script(tag, [Shell("echo hi"), Call("Task$", {"do": "it"}), Answer("done")])
                ask = f"Do it. {marker(tag)}"
                name, arguments = used(dialect, self.post(path, asked(dialect, ask)))
                self.assertIn(name, ("Bash", "shell_command", "bash", "run_shell_command"))
                self.assertEqual(arguments, {"command": "echo hi", "why": "as asked"})
                self.assertEqual(used(dialect, self.post(path, asked(dialect, ask, results=1))), ("Task", {"do": "it"}))
                for results in (2, 3):
                    self.assertEqual(said(dialect, self.post(path, asked(dialect, ask, results=results))), "done")
                kept = [(each.dialect, each.kind, each.step, each.status, each.sub) for each in self.model.served(tag)]
                self.assertEqual(kept, [(dialect, "turn", step, 200, False) for step in range(4)])

    def test_the_numbers_of_an_answer_are_those_of_the_ledger_streamed_or_not(self) -> None:
        for dialect, path in DIALECTS.items():
            with self.subTest(dialect):
                self.model.script(dialect, [Answer("a word")])
                whole = self.post(path, asked(dialect, marker(dialect)))
                if dialect == "gemini":
                    path = path.replace(":generate", ":streamGenerate") + "?alt=sse"
                events = self.streamed(path, asked(dialect, marker(dialect), stream=True))
                match dialect:
                    case "anthropic":
                        usage = events[0][1]["message"]["usage"] | events[-2][1]["usage"]
                        last, text = {"usage": usage}, events[2][1]["delta"]["text"]
                        self.assertEqual([name for name, _ in events], [data["type"] for _, data in events])
                        self.assertEqual((events[0][0], events[-1][0]), ("message_start", "message_stop"))
                    case "responses":
                        last = events[-1][1]["response"]
                        text = said(dialect, last)
                        self.assertEqual([data["sequence_number"] for _, data in events], list(range(len(events))))
                        self.assertEqual((events[0][0], events[-1][0]), ("response.created", "response.completed"))
                    case "chat":
                        last, text = events[-2][1], events[1][1]["choices"][0]["delta"]["content"]
                        self.assertEqual(events[-1], (None, "[DONE]"))
                    case _:
                        [(_, last)] = events
                        text = said(dialect, last)
                self.assertEqual((said(dialect, whole), text), ("a word", "a word"))
                self.assertEqual([counted(dialect, whole), counted(dialect, last)], self.numbers(dialect))

    def test_a_stream_of_chat_states_no_tokens_where_nobody_asks_for_them(self) -> None:
        body = asked("chat", marker("t"), stream=True)
        del body["stream_options"]
        events = self.streamed(DIALECTS["chat"], body)
        self.assertEqual([data for _, data in events if data != "[DONE]" and "usage" in data], [])

    def test_errors_are_those_that_the_vendors_send(self) -> None:
        kinds = {
            "anthropic": lambda error: error["error"]["type"],
            "responses": lambda error: (error["error"]["type"], error["error"]["code"]),
            "chat": lambda error: (error["error"]["type"], error["error"]["code"]),
            "gemini": lambda error: (error["error"]["code"], error["error"]["status"]),
        }
        openai = {401: ("invalid_request_error", "invalid_api_key"), 429: ("requests", "rate_limit_exceeded"), 500: ("server_error", None)}
        wanted = {
            "anthropic": {401: "authentication_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"},
            "responses": openai,
            "chat": openai,
            "gemini": {401: (401, "UNAUTHENTICATED"), 429: (429, "RESOURCE_EXHAUSTED"), 500: (500, "INTERNAL")},
        }
        for dialect, path in DIALECTS.items():
            for status, kind in wanted[dialect].items():
                with self.subTest(dialect, status=status):
                    tag = f"{dialect}-{status}"
                    self.model.script(tag, [Fail(status, {"retry-after": "7"})])
                    answered, headers, text = self.request("POST", path, asked(dialect, marker(tag), stream=True))
                    error = json.loads(text)
                    self.assertEqual((answered, headers["retry-after"], kinds[dialect](error)), (status, "7", kind))
                    self.assertNotIn(str(status), error["error"]["message"])
                    if dialect == "anthropic":
                        self.assertEqual(headers["request-id"], error["request_id"])
                    [exchange] = self.model.served(tag)
                    self.assertEqual((exchange.status, exchange.usage), (status, None))

    def test_the_words_of_an_error_can_be_given(self) -> None:
        self.model.script("t", [Fail(429, message="slow down")])
        _, _, text = self.request("POST", DIALECTS["chat"], asked("chat", marker("t")))
        self.assertEqual(json.loads(text)["error"]["message"], "slow down")

    def test_an_errand_is_answered_and_no_step_of_the_script(self) -> None:
        for dialect, path in DIALECTS.items():
            with self.subTest(dialect):
                tag = f"side-{dialect}"
                self.model.script(tag, [Shell("true"), Answer("done")])
                self.assertEqual(said(dialect, self.post(path, asked(dialect, marker(tag), tools=False))), "An errand")
                used(dialect, self.post(path, asked(dialect, marker(tag))))
                self.assertEqual([(each.kind, each.step) for each in self.model.served(tag)], [("side", 0), ("turn", 0)])

    def test_tools_that_are_for_errands_alone_make_an_errand(self) -> None:
        tool = {"type": "function", "function": {"name": "name_it", "parameters": {}}}
        body = {"model": "first-model", "messages": [{"role": "user", "content": marker("t")}], "tools": [tool]}
        self.model.script("t", [Answer("done")])
        self.assertEqual(said("chat", self.post(DIALECTS["chat"], body)), "done")
        with Model({"name_it"}) as self.model:
            self.assertEqual(said("chat", self.post(DIALECTS["chat"], body)), "An errand")

    def test_an_errand_of_gemini_gets_a_document_of_the_shape_that_it_asks_for(self) -> None:
        shape = {"properties": {"title": {"type": "string"}, "sure": {"type": "boolean"}, "which": {"enum": ["b", "c"]}}}
        body = asked("gemini", "x", tools=False) | {"generationConfig": {"responseSchema": shape}}
        answer = json.loads(said("gemini", self.post(DIALECTS["gemini"], body)))
        self.assertEqual(answer, {"title": "An errand", "sure": False, "which": "b"})

    def test_a_tool_of_a_namespace_is_called_in_it(self) -> None:
        self.model.script("t", [Call("Task$", {})])
        [item] = self.post(DIALECTS["responses"], asked("responses", marker("t")))["output"]
        self.assertEqual((item["namespace"], item["name"]), ("agents", "Task"))

    def test_a_call_of_what_is_not_offered_is_said(self) -> None:
        self.model.script("t", [Call("^nothing$", {})])
        text = said("chat", self.post(DIALECTS["chat"], asked("chat", marker("t"))))
        self.assertEqual(text, "no such tool is offered: bash, Task")


class Connections(Served):
    def test_a_hang_sends_nothing_until_the_other_end_hangs_up_or_the_server_is_closed(self) -> None:
        self.model.script("t", [Hang()])
        for number, ends in enumerate(("the agent", "the server"), 1):
            with self.subTest(ends=ends):
                connection = self.connection()
                connection.request("POST", DIALECTS["chat"], json.dumps(asked("chat", marker("t"))))
                self.assertTrue(self.model.wait_for("t", number, SECONDS))
                before = threading.active_count()
                connection.sock.settimeout(0.3)
                with self.assertRaises(TimeoutError):
                    connection.sock.recv(1)
                connection.sock.settimeout(SECONDS)
                if ends == "the agent":
                    connection.sock.shutdown(socket.SHUT_RDWR)
                    self.until(lambda: threading.active_count() < before)
                else:
                    self.model.close()
                    self.assertEqual(connection.sock.recv(1), b"")
        self.assertEqual([exchange.usage for exchange in self.model.served("t")], [None, None])

    def until(self, condition) -> None:
        """Waits for a condition; the test fails where it does not come to hold."""
        turn = threading.Event()
        for _ in range(SECONDS * 50):
            if condition():
                return
            turn.wait(0.02)
        self.fail("it does not come to hold")

    def test_a_cut_ends_in_the_middle_and_costs_nothing(self) -> None:
        self.model.script("t", [Cut()])
        events = self.streamed(DIALECTS["anthropic"], asked("anthropic", marker("t"), stream=True))
        self.assertEqual([name for name, _ in events], ["message_start", "content_block_start"])
        self.assertEqual(self.numbers("t"), [])

    def test_one_connection_carries_several_requests(self) -> None:
        connection = self.connection()
        for _ in range(3):
            connection.request("POST", DIALECTS["chat"], json.dumps(asked("chat", marker("t"))))
            self.assertEqual(connection.getresponse().read()[:1], b"{")
        self.assertEqual(len(self.model.served("t")), 3)

    def test_a_body_in_chunks_is_read(self) -> None:
        connection = self.connection()
        text = json.dumps(asked("chat", marker("t"))).encode()
        pieces = [text[at : at + 100] for at in range(0, len(text), 100)]
        connection.request("POST", DIALECTS["chat"], iter(pieces), encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 200)
        self.assertEqual(self.model.served("t")[0].body, asked("chat", marker("t")))

    def test_what_is_asked_beside_answers(self) -> None:
        status, _, text = self.request("GET", "/v1/models")
        self.assertEqual((status, [known["id"] for known in json.loads(text)["data"]]), (200, ["first-model", "second-model"]))
        status, headers, text = self.request("HEAD", "/")
        self.assertEqual((status, text, headers["content-length"]), (200, "", "2"))
        self.assertEqual(self.post("/v1/messages/count_tokens?beta=true", {}), {"input_tokens": 5_000})
        self.assertEqual(self.post("/v1beta/models/m:countTokens", {}), {"totalTokens": 5_000})
        status, _, _ = self.request("GET", "/v1/responses", upgrade="websocket", connection="Upgrade")
        self.assertEqual(status, 426)
        status, _, text = self.request("POST", "/v1/embeddings", {})
        self.assertEqual((status, json.loads(text)["error"]["message"]), (404, "the mock has no /v1/embeddings"))
        self.assertEqual(self.model.served(NOBODY), [])

    def test_a_wait_ends_with_the_request_that_it_is_for_or_with_its_time(self) -> None:
        self.assertFalse(self.model.wait_for("t", 1, 0.05))
        asking = threading.Thread(target=self.post, args=(DIALECTS["chat"], asked("chat", marker("t"))))
        asking.start()
        self.assertTrue(self.model.wait_for("t", 1, SECONDS))
        asking.join()


class Places(Served):
    def test_the_newest_text_of_the_user_with_a_marker_decides(self) -> None:
        talk = [
            Said("user", marker("old")), Said("tool", ""), Said("model", marker("model's")),
            Said("user", f"{marker('first')} {marker('new.sub')}"), Said("tool", marker("tool's")), Said("tool", ""), Said("user", "a reminder"),
        ]
        self.assertEqual(tuple(place(talk)), ("new", True, 2))
        self.assertEqual(tuple(place(talk[:3])), ("old", False, 1))
        self.assertEqual(tuple(place([Said("tool", ""), Said("user", "no marker")])), (NOBODY, False, 1))

    def test_a_subagent_counts_for_the_run_and_has_a_script_of_its_own(self) -> None:
        self.model.script("t", [Answer("mine")])
        self.model.script("t.sub", [Answer("its")])
        answers = [said("chat", self.post(DIALECTS["chat"], asked("chat", marker(tag)))) for tag in ("t", "t.sub")]
        self.assertEqual(answers, ["mine", "its"])
        self.assertEqual([exchange.sub for exchange in self.model.served("t")], [False, True])
        self.assertEqual(self.model.served("t.sub"), [])

    def test_what_nobody_scripted_is_answered_and_kept(self) -> None:
        self.assertEqual(said("chat", self.post(DIALECTS["chat"], asked("chat", "hello"))), "nothing is scripted for this")
        self.assertEqual(len(self.model.served(NOBODY)), 1)
        with self.assertRaisesRegex(ValueError, "a script needs a step"):
            self.model.script("t", [])

    def test_a_command_takes_the_form_that_the_tool_asks_for(self) -> None:
        command = Shell("echo hi")
        listed = {"properties": {"command": {"type": "array"}}}
        for tools, wanted in (
            ({"exec_command": {"properties": {"cmd": {"type": "string"}}}}, ("exec_command", {"cmd": "echo hi"})),
            ({"shell": listed}, ("shell", {"command": ["bash", "-c", "echo hi"]})),
            ({"bash": {"properties": {"n": {"type": ["integer", "null"]}}, "required": ["n"]}}, ("bash", {"command": "echo hi", "n": 1})),
            ({"look": {}}, None),
        ):
            self.assertEqual(called(command, tools), wanted)


class Numbers(unittest.TestCase):
    def test_no_number_comes_twice_and_two_answers_never_sum_up_to_what_another_two_do(self) -> None:
        everything = [Usage.of(number) for number in range(1, MOST + 1)]
        for key in ("input", "output"):
            self.assertEqual(len({getattr(usage, key) for usage in everything}), MOST)
        self.assertLess(max(usage.input + usage.output for usage in everything), 50_000)
        found = everything[:200] + everything[-200:]
        pairs = [(a, b) for at, a in enumerate(found) for b in found[at + 1 :]]
        sums = {tuple(map(sum, zip(astuple(a), astuple(b)))) for a, b in pairs}
        self.assertEqual(len(sums), len(pairs))
        for usage in everything:
            self.assertLess(usage.cached, usage.input)

    def test_an_exchange_is_not_changed_by_who_reads_it(self) -> None:
        exchange = Exchange(1, 0.0, "chat", "/", {}, {}, "t", False, "turn", 0, 200, Usage(1, 0, 1))
        with self.assertRaises(AttributeError):
            exchange.status = 500  # type: ignore[misc]


if __name__ == "__main__":
    unittest.main()
