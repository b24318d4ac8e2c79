"""Reads and writes posts and their authors by a client of Python: orms.py CLIENT URL.

Each line of the input is an action and a number, as `get 1`; the last line of the output is what
came of it, as JSON. The other programs here do the same, each in the way of its clients.
"""

import asyncio
import json
import sys

import mappers
from mappers import Client, email

POST = "id, author_id, title, body, published, views, created_at"
GET = f"SELECT {POST} FROM posts WHERE id = {{}}"
UNIQUE = "SELECT id, name, email FROM authors WHERE email = {}"
LIST = (f"SELECT {POST} FROM posts WHERE author_id = {{}} "
        "ORDER BY created_at DESC, id DESC LIMIT 20")
COUNT = "SELECT count(*) FROM posts WHERE author_id = {}"
EXISTS = "SELECT 1 FROM posts WHERE author_id = {} LIMIT 1"
SOME = f"SELECT {POST} FROM posts WHERE id <= {{}} ORDER BY id"
AUTHORS = "SELECT id, name, email FROM authors WHERE id = ANY({}) ORDER BY id"
INSERT = "INSERT INTO posts (author_id, title) VALUES ({}, 'new') RETURNING id"
UPDATE = "UPDATE posts SET views = views + 1, title = 'changed' WHERE id = {}"
DELETE = "DELETE FROM posts WHERE id = {}"


class Psycopg(Client):
    def __init__(self, url, autocommit=False):
        import psycopg

        self.db = psycopg.connect(url, autocommit=autocommit)

    def rows(self, sql, value):
        return self.db.execute(sql.format("%s"), [value]).fetchall()

    def end(self):
        self.db.commit()

    def get(self, k):
        return self.rows(GET, k)

    def unique(self, k):
        return self.rows(UNIQUE, email(k))

    def list(self, k):
        return self.rows(LIST, k)

    def count(self, k):
        return self.rows(COUNT, k)

    def exists(self, k):
        return len(self.rows(EXISTS, k)) > 0

    def preload(self, k):
        posts = self.rows(SOME, 10 * k)
        return [posts, self.rows(AUTHORS, sorted({p[1] for p in posts}))]

    def insert(self, k):
        return self.rows(INSERT, k)[0][0]

    def update(self, k):
        self.db.execute(UPDATE.format("%s"), [k])

    def delete(self, k):
        self.db.execute(DELETE.format("%s"), [k])

    def transaction(self, k):
        with self.db.transaction():
            return self.get(k)


class Asyncpg(Client):
    def __init__(self, url):
        import asyncpg

        self.loop = asyncio.new_event_loop()
        self.db = self.loop.run_until_complete(asyncpg.connect(url))

    def run(self, method, sql, value):
        return self.loop.run_until_complete(getattr(self.db, method)(sql.format("$1"), value))

    def get(self, k):
        return tuple(self.run("fetchrow", GET, k) or ())

    def unique(self, k):
        return tuple(self.run("fetchrow", UNIQUE, email(k)))

    def list(self, k):
        return [tuple(r) for r in self.run("fetch", LIST, k)]

    def count(self, k):
        return self.run("fetchval", COUNT, k)

    def exists(self, k):
        return self.run("fetchval", EXISTS, k) == 1

    def preload(self, k):
        posts = [tuple(r) for r in self.run("fetch", SOME, 10 * k)]
        authors = self.run("fetch", AUTHORS, sorted({p[1] for p in posts}))
        return [posts, [tuple(a) for a in authors]]

    def insert(self, k):
        return self.run("fetchval", INSERT, k)

    def update(self, k):
        return self.run("execute", UPDATE, k)

    def delete(self, k):
        return self.run("execute", DELETE, k)

    def transaction(self, k):
        async def within():
            async with self.db.transaction():
                return tuple(await self.db.fetchrow(GET.format("$1"), k))

        return self.loop.run_until_complete(within())


CLIENTS = {
    "psycopg": Psycopg,
    "psycopg, autocommit": lambda url: Psycopg(url, autocommit=True),
    "asyncpg": Asyncpg,
    "SQLAlchemy": mappers.SQLAlchemy,
    "SQLAlchemy, AUTOCOMMIT": lambda url: mappers.SQLAlchemy(url, isolation_level="AUTOCOMMIT"),
    "Django": mappers.Django,
}
client = None
for line in sys.stdin:
    action, k = line.split()
    client = client or CLIENTS[sys.argv[1]](sys.argv[2])
    result = getattr(client, action)(int(k))
    client.end()
    print(json.dumps(result, default=str), flush=True)
