"""redis-py: the client script of docs/howto/redis.md's test. redis_py.py HOST PORT HTTP-URL"""
import sys
import time
import urllib.request

import redis
from redis.cache import CacheConfig

from rows import Rows

host, port, url = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def ask(path, method="GET", body=None):
    request = urllib.request.Request(url + path, method=method, data=body and body.encode(),
                                     headers={"Content-Type": "application/json"})
    return urllib.request.urlopen(request).read()


def shows(part, read):
    until = time.time() + 1
    while True:
        got = read()
        if part in got:
            return
        assert time.time() < until, f"{got} has no {part} after 1 s"
        time.sleep(0.001)


for protocol in (2, 3):
    r = redis.Redis(host, port, protocol=protocol, db=1, client_name="interop")
    want = ask("/depts/10")
    assert r.get("depts:10") == want
    assert r.get("depts:99") is None
    assert r.mget("depts:10", "depts:99", "depts:10") == [want, None, want]
    assert r.hgetall("emps:7839")[b"empName"] == b"KING"
    assert (r.exists("depts:10", "depts:99"), r.ttl("depts:10"), r.type("depts:10")) == (1, -1, b"string")
    with r.pipeline(transaction=False) as p:
        for i in range(100):
            p.hget(f"depts:{i % 10 * 10}", "deptName")
        assert [v for v in p.execute() if v] == [b"ACCOUNTING", b"RESEARCH", b"SALES", b"OPERATIONS"] * 10
    with r.pipeline() as p:
        p.get("depts:10").exists("depts:99")
        assert p.execute() == [want, 0]
    assert len(set(r.scan_iter("depts:*"))) >= 4
    assert r.hset("depts:10", "deptLocation", "HERE") == 0
    assert r.hget("depts:10", "deptLocation") == b"HERE"
    assert r.set("depts:77", '{"deptName":"NEW"}', nx=True) and not r.set("depts:77", '{"deptName":"OTHER"}', nx=True)
    assert r.delete("depts:77", "depts:78") == 1
    for refused in ("flushall", "flushdb"):
        try:
            getattr(r, refused)()
            raise SystemExit(f"{refused} is done")
        except redis.exceptions.NoPermissionError:
            pass
    assert r.ping() and r.info()["role"] == "master"

cached = redis.Redis(host, port, protocol=3, cache_config=CacheConfig(), decode_responses=True)
for i in range(20):
    ask("/emps/7839", "PATCH", '{"sal":%d}' % (6000 + i))
    shows(f'"sal":{6000 + i},', lambda: cached.get("emps:7839"))
ask("/emps/7839", "PATCH", '{"sal":5000}')
assert cached.get_cache().size > 0, "nothing is kept"

# What docs/howto/redis.md keeps copies with, also when its connections are lost.
rows = Rows(host=host, port=port)
admin = redis.Redis(host, port, decode_responses=True)
for i in range(60):
    if i % 20 == 10:
        me = admin.client_id()
        for c in admin.client_list():
            if c["id"] != str(me) and (i > 10 or c["sub"] == "0"):  # those that read; then who listens, too
                admin.client_kill_filter(_id=c["id"])
    ask("/emps/7839", "PATCH", '{"sal":%d}' % (7000 + i))
    shows(b'"sal":%d,' % (7000 + i), lambda: rows.get("emps:7839"))
    rows.get("emps:7839")
ask("/emps/7839", "PATCH", '{"sal":5000}')
shows(b'"sal":5000,', lambda: rows.get("emps:7839"))
until = time.time() + 1
while rows.told[0] is None or type(rows.told[0].get("emps:7839")) is not bytes:
    assert time.time() < until, "nothing is kept"
    rows.get("emps:7839")
assert rows.get("depts:99") is None
print("redis-py", redis.__version__, "ok")
