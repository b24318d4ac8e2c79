"""Asks for pages of 12 SELECTs by psycopg: page.py URL CALLERS SECONDS. It prints pages a second.

The statements are those of page.sql. Callers are threads, each with a connection of its own.
"""

import random
import re
import sys
import threading
import time
from pathlib import Path

import psycopg

TEXT = Path(__file__).with_name("page.sql").read_text()
STATEMENTS = [re.sub(r":(post|author)", r"%(\1)s", line.rstrip(";"))
              for line in TEXT.splitlines() if line.startswith("SELECT")]


def call(url, until, counts):
    with psycopg.connect(url, autocommit=True) as db:
        pages = 0
        while time.monotonic() < until:
            keys = {"post": random.randint(1, 200), "author": random.randint(1, 5)}
            for sql in STATEMENTS:
                db.execute(sql, keys).fetchall()
            pages += 1
        counts.append(pages)


url, callers, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
counts = []
begin = time.monotonic()
threads = [threading.Thread(target=call, args=(url, begin + seconds, counts)) for _ in range(callers)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sum(counts) / (time.monotonic() - begin))
