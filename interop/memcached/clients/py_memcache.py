"""pymemcache: the client script. py_memcache.py HOST PORT HTTP-URL"""
import sys
import time
import urllib.request

from pymemcache import HashClient, MemcacheClientError, MemcacheServerError, PooledClient

host, port, url = sys.argv[1], int(sys.argv[2]), sys.argv[3]
want = urllib.request.urlopen(url + "/depts/10").read()


def rows(c):
    assert c.get("depts:10") == want
    assert c.get("depts:99") is None
    assert c.get("depts:99", default=b"none") == b"none"
    many = c.get_many(["depts:10", "depts:99", "depts:20"])
    assert set(many) == {"depts:10", "depts:20"} and many["depts:10"] == want, many
    assert len(c.get_many([f"depts:{i % 10 * 10}" for i in range(100)])) == 4
    value, cas = c.gets("depts:20")
    assert value == many["depts:20"] and cas


def writes(c, key):
    assert not c.replace(key, b'{"deptName":"A"}', noreply=False)
    assert c.add(key, b'{"deptName":"A"}', noreply=False)
    assert not c.add(key, b'{"deptName":"B"}', noreply=False)
    _, old = c.gets(key)
    assert c.set(key, b'{"deptName":"C"}', noreply=False)
    assert c.cas(key, b'{"deptName":"D"}', old, noreply=False) is False
    _, new = c.gets(key)
    assert c.cas(key, b'{"deptName":"D"}', new, noreply=False) is True
    assert b'"deptName":"D"' in c.get(key)
    assert c.delete(key, noreply=False) and not c.delete(key, noreply=False)
    try:
        c.incr("depts:10", 1)
        raise SystemExit("a row is incremented")
    except (MemcacheClientError, MemcacheServerError):
        pass
    assert c.get("depts:10") == want
    # noreply, the default of set and delete: it is done, soon.
    c.set(key, b'{"deptName":"E"}')
    until = time.time() + 1
    while b'"deptName":"E"' not in (c.get(key) or b""):
        assert time.time() < until, c.get(key)
    c.delete(key)


for c in (PooledClient((host, port), max_pool_size=4), HashClient([(host, port)])):
    rows(c)
    writes(c, "depts:69")
print("pymemcache ok")
