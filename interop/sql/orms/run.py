"""Counts what memory has answered, or would have, of the SELECTs of a client, for each action.

run.py NAME DIRECT THROUGH OPS PROGRAM...: DIRECT and THROUGH are URLs of two databases with the
same rows, the second through the hotrow whose operator's port has the URL OPS. The program is run
against each and prints the same for both, or this fails. The output is a row of a table. SHAPES is
the file that gets a line for each shape of statements.
"""

import json
import os
import subprocess
import sys
import time
from urllib.request import urlopen

RUNS = 50  # of each action that reads, on two keys
WRITES = 10
READS = ["get", "unique", "list", "count", "exists", "preload"]


class Program:
    def __init__(self, program, url):
        self.process = subprocess.Popen([*program, url], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def do(self, action, k):
        print(action, k, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            print(f"| {name} | has ended at {action} {k} |", flush=True)
            sys.exit(1)
        return line

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def write(program):
    """Yields what each write and the reads after it print."""
    for i in range(WRITES):
        made = program.do("insert", 1 + i % 2)
        yield made
        k = int(json.loads(made))
        yield program.do("get", k)
        yield program.do("update", k)
        yield program.do("get", k)
        yield program.do("count", 1 + i % 2)
        yield program.do("delete", k)
        yield program.do("get", k)


def act(program, action):
    """Returns what all runs of an action print."""
    if action == "connect":
        return [program.do(action, 0)]
    if action == "writes":
        return list(write(program))
    return [program.do(action, 1 + i % 2) for i in range(RUNS)]


def statements():
    with urlopen(f"{ops}/-/sql?limit=1000") as answer:
        return {(s["shape"], s["reason"]): s for s in json.load(answer)["statements"]}


def cell(before, after):
    """Returns the share of SELECTs that are hits, and why most of the others are none."""
    selects = hits = 0
    whys = {}
    for key, now in after.items():
        was = before.get(key, {})
        count, looks, hit = (now[n] - was.get(n, 0) for n in ("count", "looks", "hits"))
        if count == 0 or not now["shape"].lower().startswith(("select", "with")):
            continue
        selects, hits = selects + count, hits + hit
        why = now["reason"] if now["reason"] != "eligible" else now.get("passed", "?")
        whys[why] = whys.get(why, 0) + count - looks
    if selects == 0:
        return "-"
    share = f"{round(100 * hits / selects)} %"
    why = max(whys, key=whys.get)
    if whys[why] * 10 < selects:
        return share
    return f"{share}, {why}" if hits else why


def wrong():
    """Returns the shapes whose hits differed from what the database said. Nobody but the client has
    written, so no row has changed behind hotrow's back: an older answer is wrong here, too.
    """
    time.sleep(2)  # a hit that differs is judged behind the next fence, some milliseconds later
    return [s for s in statements().values() if s["wrong"] + s["older"] > 0]


name, direct_url, through_url, ops = sys.argv[1:5]
direct, through = (Program(sys.argv[5:], url) for url in (direct_url, through_url))
cells, failed = [], False
for action in ["connect", *READS, "writes", "transaction"]:
    expected = act(direct, action)
    before = statements()
    got = act(through, action)
    cells.append(cell(before, statements()))
    for i, (want, have) in enumerate(zip(expected, got, strict=True)):
        if want != have:
            print(f"{name}: {action}, run {i}: {have!r}; direct: {want!r}", file=sys.stderr)
            failed = True
for s in wrong():
    print(f"{name}: {s['wrong']} wrong, {s['older']} older: {s['shape']}", file=sys.stderr)
    failed = True
with open(os.environ["SHAPES"], "a") as out:
    for s in statements().values():
        print(name, s["reason"], s.get("passed", ""), s["count"], s["hits"], s["uncompared"],
              s["shape"], sep="\t", file=out)
direct.end()
through.end()
print(f"| {name} |", " | ".join(cells), "|")
sys.exit(failed)
