"""Writes a row and reads it back through hotrow, beside a suite, until stdin ends.

PGHOST, PGPORT and the argument lead to the database. What is read must be what was written, though
most of it comes from memory. In between another row is read that nobody writes.
"""

import select
import sys

import psycopg2

session = psycopg2.connect(dbname=sys.argv[1], user="postgres")
session.autocommit = True
cursor = session.cursor()
written = 0


def read(key):
    cursor.execute("SELECT n FROM beside.followed WHERE id = %s", (key,))
    return cursor.fetchone()[0]


while not select.select([sys.stdin], [], [], 0.02)[0]:
    written += 1
    cursor.execute("UPDATE beside.followed SET n = %s WHERE id = 1", (written,))
    for _ in range(10):
        if (got := read(1)) != written:
            sys.exit(f"{written} was written, {got} is read")
        if not select.select([sys.stdin], [], [], 0.01)[0] and (got := read(2)) != 0:
            sys.exit(f"0 was written, {got} is read")
