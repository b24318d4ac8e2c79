"""Asks for a document by its key, again and again, by one client of Python: see bench/README.md.

programs.py CLIENT URL FIRST KEYS CALLERS WARMUP SECONDS

It is one caller, as a program of Python is, whatever CALLERS says."""
import json
import random
import resource
import sys
import time
from urllib.parse import urlparse

client, url = sys.argv[1], sys.argv[2]
first, keys = int(sys.argv[3]), int(sys.argv[4])
warmup, seconds = float(sys.argv[6]), float(sys.argv[7])
at = urlparse(url)


def redis_py(cached=False):
    import redis
    from redis.cache import CacheConfig
    if cached:
        r = redis.Redis(at.hostname, at.port, protocol=3, cache_config=CacheConfig(max_size=100_000))
    else:
        r = redis.Redis(at.hostname, at.port)
    return lambda n: r.get(f"depts:{n}")


def rows():
    sys.path.append("build/programs")
    from rows import Rows  # of docs/howto/redis.md
    r = Rows(host=at.hostname, port=at.port)
    while r.told[0] is None:
        time.sleep(0.001)
    return lambda n: r.get(f"depts:{n}")


def pymemcache():
    from pymemcache.client.base import Client
    c = Client((at.hostname, at.port), no_delay=True)
    return lambda n: c.get(f"depts:{n}")


def requests():
    import requests
    s = requests.Session()
    return lambda n: s.get(f"{url}/depts/{n}").content


def psycopg():
    import psycopg
    c = psycopg.connect(url, autocommit=True)
    return lambda n: c.execute("SELECT doc FROM docs WHERE id = %s", (n,)).fetchone()[0]


ask = {"redis-py": redis_py, "redis-py-cached": lambda: redis_py(True), "redis-py-rows": rows, "pymemcache": pymemcache,
       "requests": requests, "psycopg": psycopg}[client]()
failed = 0


def run(until, times):
    global failed
    n, clock, pick = 0, time.perf_counter, random.Random(7).randrange
    while True:
        began = clock()
        if began >= until:
            return n
        for _ in range(16):
            answer = ask(first + pick(keys))
            if answer is None or len(answer) < 1000:
                failed += 1
        n += 16
        times.append((clock() - began) / 16)


before = keys
for n in range(keys):
    ask(first + n)
before += run(time.perf_counter() + warmup, [])
times, used, began = [], resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
answers = run(began + seconds, times)
took, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
times.sort()
print(json.dumps({
    "answers": answers, "all": before + answers, "failed": failed, "seconds": took,
    "user_us": (now.ru_utime - used.ru_utime) * 1e6, "system_us": (now.ru_stime - used.ru_stime) * 1e6,
    "p50_us": times[len(times) // 2] * 1e6, "p99_us": times[len(times) * 99 // 100] * 1e6}))
