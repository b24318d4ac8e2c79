"""valkey-glide: the client script. glide.py HOST PORT HTTP-URL"""
import asyncio
import sys
import urllib.request

from glide import Batch, ConditionalChange, GlideClient, GlideClientConfiguration, NodeAddress, ProtocolVersion
from glide.exceptions import RequestError

host, port, url = sys.argv[1], int(sys.argv[2]), sys.argv[3]
want = urllib.request.urlopen(url + "/depts/10").read()


async def script(protocol):
    r = await GlideClient.create(GlideClientConfiguration([NodeAddress(host, port)], protocol=protocol, database_id=1,
                                                          client_name="interop"))
    assert await r.get("depts:10") == want
    assert await r.get("depts:99") is None
    assert await r.mget(["depts:10", "depts:99", "depts:10"]) == [want, None, want]
    assert (await r.hgetall("emps:7839"))[b"empName"] == b"KING"
    assert (await r.exists(["depts:10", "depts:99"]), await r.ttl("depts:10"), await r.type("depts:10")) == (1, -1, b"string")
    many = await asyncio.gather(*(r.hget(f"depts:{i % 10 * 10}", "deptName") for i in range(100)))
    assert [v for v in many if v] == [b"ACCOUNTING", b"RESEARCH", b"SALES", b"OPERATIONS"] * 10
    batch = Batch(is_atomic=False)
    for i in range(100):
        batch.hget(f"depts:{i % 10 * 10}", "deptName")
    assert await r.exec(batch, raise_on_error=True) == many
    atomic = Batch(is_atomic=True)
    atomic.get("depts:10").exists(["depts:99"])
    assert await r.exec(atomic, raise_on_error=True) == [want, 0]
    cursor, keys = b"0", set()
    while True:
        cursor, some = await r.scan(cursor, match="depts:*")
        keys.update(some)
        if cursor == b"0":
            break
    assert len(keys) >= 4, keys
    assert await r.hset("depts:10", {"deptLocation": "HERE"}) == 0
    assert await r.hget("depts:10", "deptLocation") == b"HERE"
    once = ConditionalChange.ONLY_IF_DOES_NOT_EXIST
    assert await r.set("depts:74", '{"deptName":"NEW"}', conditional_set=once) == "OK"
    assert await r.set("depts:74", '{"deptName":"OTHER"}', conditional_set=once) is None
    assert await r.delete(["depts:74", "depts:78"]) == 1
    try:
        await r.flushall()
        raise SystemExit("flushall is done")
    except RequestError as refused:
        assert "NOPERM" in str(refused) or "ermission" in str(refused), refused
    assert await r.ping() == b"PONG"
    await r.close()


for version in (ProtocolVersion.RESP2, ProtocolVersion.RESP3):
    want = urllib.request.urlopen(url + "/depts/10").read()
    asyncio.run(script(version))
print("valkey-glide ok")
