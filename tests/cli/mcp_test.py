# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""mcp_test.py LACUNA: `lacuna mcp` as a coding agent sees it, message by message."""

import csv
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LACUNA = os.path.abspath(sys.argv[1])
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
STATED = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
FOLDER = tempfile.TemporaryDirectory()
TRACE = os.path.join(FOLDER.name, "run.lcn")


def setUpModule():
    for name, seed in (("run.lcn", "1"), ("after.lcn", "2"), ("-dash.lcn", "1")):
        subprocess.run([LACUNA, "generate", "-o", os.path.join(FOLDER.name, name), "--steps", "40", "--layers", "4", "--seed", seed],
                       check=True, capture_output=True, timeout=100)


def tearDownModule():
    FOLDER.cleanup()


class Server:
    """A server that is spoken to line by line."""

    def __init__(self, *options):
        self.process = subprocess.Popen([LACUNA, "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=FOLDER.name)
        self.last = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def send(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def receive(self):
        assert select.select([self.process.stdout], [], [], 60)[0], "no answer"
        return json.loads(self.process.stdout.readline())

    def start(self, method, **params):
        self.last += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))
        return self.last

    def ask(self, method, **params):
        number = self.start(method, **params)
        answer = self.receive()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == number, answer
        return answer

    def result(self, method, **params):
        return self.ask(method, **params)["result"]

    def call(self, tool, **arguments):
        """(text, isError) of a call."""
        result = self.result("tools/call", name=tool, arguments=arguments)
        assert all(part["type"] == "text" for part in result["content"])
        return "".join(part["text"] for part in result["content"]), result["isError"]

    def end(self):
        """Ends the input; answers the exit code and what was printed since."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out.decode(), err.decode()

    def child(self):
        """The process that answers the running call."""
        for _ in range(500):
            for folder in pathlib.Path("/proc").glob("[0-9]*"):
                if state_of(folder.name)[1] == str(self.process.pid) and command_of(folder.name)[1:2] == ["query"]:
                    return int(folder.name)
            time.sleep(0.02)
        raise AssertionError("no child")


def state_of(process):
    """(state, parent) of a process, as letters and digits; (Z, 0) of one that is gone."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return ["Z", "0"]


def command_of(process):
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_gone(process):
    for _ in range(500):
        if state_of(process)[0] == "Z":
            return True
        time.sleep(0.02)
    return False


class Protocol(unittest.TestCase):
    def test_a_handshake_agrees_on_the_clients_version(self):
        with Server() as server:
            for asked, agreed in (("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("2099-01-01", "2025-11-25")):
                result = server.result("initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "test", "version": "1"})
                self.assertEqual(result["protocolVersion"], agreed)
                self.assertEqual(result["capabilities"], {"tools": {}})
                self.assertEqual(result["serverInfo"]["name"], "lacuna")
                self.assertIn(result["serverInfo"]["version"], subprocess.run([LACUNA, "--version"], capture_output=True, text=True, check=True).stdout)
                self.assertIn("findings", result["instructions"])
            server.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
            self.assertEqual(server.result("ping"), {})
            self.assertEqual(server.end(), (0, "", ""), "the notification has no answer, and the end of the input ends the server")

    def test_requests_may_state_their_version_instead(self):
        with Server() as server:
            found = server.result("server/discover", _meta=STATED)
            self.assertIn("2026-07-28", found["supportedVersions"])
            self.assertEqual((found["resultType"], found["capabilities"]), ("complete", {"tools": {}}))
            listed = server.result("tools/list", _meta=STATED)
            self.assertEqual((listed["resultType"], listed["cacheScope"]), ("complete", "public"))
            self.assertEqual(listed["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "lacuna")
            error = server.ask("tools/list", _meta=dict(STATED, **{"io.modelcontextprotocol/protocolVersion": "1900-01-01"}))["error"]
            self.assertEqual((error["code"], error["data"]["requested"]), (-32022, "1900-01-01"))
            self.assertIn("2026-07-28", error["data"]["supported"])
            lacking = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
            self.assertEqual(server.ask("tools/list", _meta=lacking)["error"]["code"], -32602)
            self.assertEqual(server.ask("server/discover")["error"]["code"], -32602)

    def test_tools_are_described_by_schemas(self):
        with Server() as server:
            tools = {tool["name"]: tool for tool in server.result("tools/list")["tools"]}
        self.assertEqual(list(tools), ["report", "findings", "whatif", "diff", "query", "schema"])
        for tool in tools.values():
            schema = tool["inputSchema"]
            self.assertEqual((schema["type"], schema["additionalProperties"]), ("object", False))
            self.assertTrue(set(schema["required"]) <= set(schema["properties"]))
            self.assertGreater(len(tool["description"]), 60)
            self.assertTrue(all(property["description"] for property in schema["properties"].values()))
            self.assertTrue(tool["annotations"]["readOnlyHint"])
        self.assertIn("`schema`", tools["query"]["description"])
        self.assertIn("loader", tools["report"]["inputSchema"]["properties"]["sections"]["items"]["enum"])
        self.assertIn("loader.workers=N", tools["whatif"]["inputSchema"]["properties"]["changes"]["description"])
        self.assertEqual(tools["whatif"]["inputSchema"]["required"], ["file", "changes"])

    def test_what_is_no_request_is_refused_and_the_next_is_answered(self):
        with Server() as server:
            for text, code in (("{", -32700), ("not JSON", -32700), ("[]", -32600), ("{}", -32600), ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600)):
                server.send(text)
                answer = server.receive()
                self.assertEqual((answer["error"]["code"], answer["id"]), (code, None), text)
            server.send("")
            self.assertEqual(server.ask("resources/list")["error"]["code"], -32601)
            self.assertEqual(server.ask("tools/call", name="no-such")["error"]["code"], -32602)
            self.assertEqual(server.ask("tools/call")["error"]["code"], -32602)
            self.assertEqual(server.result("ping"), {})
            self.assertEqual(server.end()[0], 0)

    def test_a_long_message_is_refused(self):
        with Server() as server:
            server.send('{"jsonrpc": "2.0", "id": 1, "method": "' + "a" * (2 << 20) + '"}')
            self.assertIn("1 MiB", server.receive()["error"]["message"])
            self.assertEqual(server.result("ping"), {})

    def test_many_requests_on_one_connection_are_answered_in_order(self):
        requests = []
        for number in range(300):
            method, params = ("tools/call", {"name": "schema", "arguments": {"table": "kernel"}}) if number % 3 else ("ping", {})
            requests.append(json.dumps({"jsonrpc": "2.0", "id": f"r{number}", "method": method, "params": params}))
        requests.insert(150, json.dumps({"jsonrpc": "2.0", "id": "query", "method": "tools/call",
                                         "params": {"name": "query", "arguments": {"file": TRACE, "sql": "SELECT 1 AS one"}}}))
        done = subprocess.run([LACUNA, "mcp"], input="\n".join(requests), capture_output=True, text=True, check=True, timeout=100)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([answer["id"] for answer in answers], [json.loads(request)["id"] for request in requests])
        self.assertEqual(answers[150]["result"]["content"][0]["text"], "one\n1\n")


class Tools(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.__exit__)

    def right(self, tool, **arguments):
        text, is_error = self.server.call(tool, **arguments)
        self.assertFalse(is_error, text)
        return text

    def wrong(self, tool, **arguments):
        text, is_error = self.server.call(tool, **arguments)
        self.assertTrue(is_error, text)
        return text

    def test_report(self):
        text = self.right("report", file=TRACE)
        self.assertIn("Where the device's time goes", text)
        self.assertNotIn("\x1b", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        steps = self.right("report", file="run.lcn", sections=["steps", "memory"])
        self.assertIn("ProfilerStep#39", steps)
        self.assertNotIn("Kernels", steps)

    def test_findings(self):
        findings = json.loads(self.right("findings", file=TRACE))
        self.assertGreater(len(findings), 0)
        for finding in findings:
            self.assertTrue(finding["title"] and finding["fix"])
            self.assertIn(finding["kind"], ("fault", "opportunity"))
            self.assertLessEqual(finding["confidence"], 1)
            if finding["gain_ms_per_step"] is not None:
                self.assertLessEqual(finding["gain_low_ms_per_step"], finding["gain_ms_per_step"])
                self.assertLessEqual(finding["gain_ms_per_step"], finding["gain_high_ms_per_step"])

    def test_whatif(self):
        self.assertIn("predicted", self.right("whatif", file=TRACE, changes=["sync=off", "host*0.5"]))
        self.assertIn("there is no knob 'foo'", self.wrong("whatif", file=TRACE, changes=["foo=1"]))

    def test_diff(self):
        text = self.right("diff", before=TRACE, after="after.lcn", rows=3)
        self.assertTrue(text.startswith("step"), text)
        self.assertIn("Places in the operator tree", text)

    def test_query(self):
        rows = list(csv.DictReader(self.right("query", file=TRACE, sql="SELECT name, count(*) AS n FROM kernel GROUP BY 1 ORDER BY 2 DESC LIMIT 3").splitlines()))
        self.assertEqual(len(rows), 3)
        self.assertGreater(int(rows[0]["n"]), 0)
        text = self.right("query", file=TRACE, sql="SELECT rowid FROM kernel", rows=2)
        self.assertTrue(text.startswith("rowid\n"), text)
        self.assertIn("there are more rows than the first 2", text)
        self.assertEqual(self.right("query", file=TRACE, sql="-- a comment\nSELECT 'é\x01' AS t"), "t\né\x01\n")

    def test_schema(self):
        self.assertIn("\nkernel: startNs, durNs, ", self.right("schema"))
        self.assertIn("| durNs | ns | length |", self.right("schema", table="kernel"))
        self.assertIn("did you mean 'kernel'?", self.wrong("schema", table="kernels"))

    def test_errors_are_results_with_the_commands_message(self):
        self.assertIn("the argument `file` is missing", self.wrong("report"))
        self.assertIn("there is no argument `path`", self.wrong("report", file=TRACE, path="x"))
        self.assertIn("cannot be opened: No such file", self.wrong("report", file="no-such.lcn"))
        self.assertIn("lacuna: error: ", self.wrong("findings", file=os.devnull))
        message = self.wrong("query", file=TRACE, sql="SELECT nam FROM kernel")
        self.assertIn("no such column: nam", message)
        self.assertIn("may not", self.wrong("query", file=TRACE, sql="SELECT load_extension('x')"))
        self.assertEqual(self.server.result("ping"), {})

    def test_a_file_that_begins_with_a_dash_is_no_option(self):
        self.assertIn("Where the device's time goes", self.right("report", file="-dash.lcn"))
        self.assertEqual(self.right("query", file="-dash.lcn", sql="SELECT 1 AS one"), "one\n1\n")
        self.assertIn("./--help: cannot be opened", self.wrong("report", file="--help"))
        self.assertIn("./--: cannot be opened", self.wrong("diff", before="--", after=TRACE))
        self.assertIn("error", self.wrong("whatif", file=TRACE, changes=["--help"]))


class Bounds(unittest.TestCase):
    def test_a_long_answer_is_cut_with_a_note(self):
        with Server("--max-bytes", "2000") as server:
            text, is_error = server.call("report", file=TRACE)
            self.assertFalse(is_error)
            self.assertLessEqual(len(text.encode()), 2000)
            self.assertRegex(text, r"\n\[[\d.]+ KiB of [\d.]+ KiB left out; name the sections that you need")
            text, _ = server.call("query", file=TRACE, sql="SELECT * FROM kernel", rows=1000)
            self.assertLessEqual(len(text.encode()), 2000)
            self.assertIn("aggregate]", text)
            self.assertIn("left out; name a table]", server.call("schema")[0])

    def test_a_slow_query_is_ended_by_the_limit(self):
        with Server("--time-limit", "1") as server:
            began = time.monotonic()
            text, is_error = server.call("query", file=TRACE, sql=ENDLESS)
            self.assertTrue(is_error)
            self.assertIn("query: ended after 1 s, the time limit of a call", text)
            self.assertLess(time.monotonic() - began, 30)
            self.assertFalse(server.call("schema")[1], "the server goes on")
        with Server("--time-limit", "0.0001") as server:
            self.assertIn("report: ended after 0.0001 s", server.call("report", file=TRACE)[0])

    def test_a_cancelled_call_has_no_answer(self):
        with Server() as server:
            number = server.start("tools/call", name="query", arguments={"file": TRACE, "sql": ENDLESS})
            child = server.child()
            waiting = server.start("ping")
            server.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}))
            self.assertEqual(server.receive()["id"], waiting)
            self.assertTrue(is_gone(child))

    def test_a_crash_is_a_result_and_the_server_goes_on(self):
        with Server() as server:
            server.start("tools/call", name="query", arguments={"file": TRACE, "sql": ENDLESS})
            os.kill(server.child(), signal.SIGKILL)
            result = server.receive()["result"]
            self.assertTrue(result["isError"])
            self.assertIn("ended by signal 9", result["content"][0]["text"])
            self.assertEqual(server.result("ping"), {})

    def test_a_call_ends_with_its_server(self):
        with Server() as server:
            server.start("tools/call", name="query", arguments={"file": TRACE, "sql": ENDLESS})
            child = server.child()
            server.process.terminate()
            self.assertEqual(server.process.wait(60), -signal.SIGTERM)
            self.assertTrue(is_gone(child))

    def test_a_call_ends_when_nobody_reads_its_answer(self):
        with Server() as server:
            server.start("tools/call", name="query", arguments={"file": TRACE, "sql": ENDLESS})
            child = server.child()
            server.process.stdout.close()
            self.assertTrue(is_gone(child))
            server.process.stdout = None
            server.process.stdin.close()
            self.assertEqual(server.process.wait(60), 0)
            server.process.stdin = None

    def test_the_input_may_end_before_the_answer(self):
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "query", "arguments": {"file": TRACE, "sql": "SELECT 2 AS two"}}}
        done = subprocess.run([LACUNA, "mcp"], input=json.dumps(request), capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, json.loads(done.stdout)["result"]["content"][0]["text"]), (0, "two\n2\n"))

    def test_limits_are_checked(self):
        for words in (["--time-limit", "-1"], ["--time-limit", "nan"], ["--time-limit", "86401"], ["--max-bytes", "10"], ["more"]):
            done = subprocess.run([LACUNA, "mcp", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
