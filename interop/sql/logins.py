"""Logs in by the drivers of Python. Each line of the input is a case: its name, host, port, sslmode,
channel_binding (or default), user and password. It prints driver, case and what came of it, with tabs.
"""

import asyncio
import ssl
import sys

import asyncpg
import pg8000.dbapi
import psycopg
import psycopg2

anybody = ssl.create_default_context()
anybody.check_hostname = False
anybody.verify_mode = ssl.CERT_NONE


def libpq(connect):
    def log_in(host, port, sslmode, binding, user, password):
        settings = {} if binding == "default" else {"channel_binding": binding}
        db = connect(host=host, port=port, sslmode=sslmode, user=user, password=password,
                     dbname="postgres", connect_timeout=10, **settings)
        cursor = db.cursor()
        cursor.execute("SELECT current_user")
        (name,) = cursor.fetchone()
        db.close()
        return name

    return log_in


def by_asyncpg(host, port, sslmode, binding, user, password):
    async def log_in():
        db = await asyncpg.connect(host=host, port=int(port), ssl=sslmode, user=user, password=password,
                                   database="postgres", timeout=10)
        name = await db.fetchval("SELECT current_user")
        await db.close()
        return name

    return asyncio.run(log_in()) if binding == "default" else None


def by_pg8000(host, port, sslmode, binding, user, password):
    if binding != "default":
        return None
    secure = anybody if sslmode == "require" else None
    db = pg8000.dbapi.connect(host=host, port=int(port), ssl_context=secure, user=user,
                              password=password, database="postgres", timeout=10)
    cursor = db.cursor()
    cursor.execute("SELECT current_user")
    (name,) = cursor.fetchone()
    db.close()
    return name


drivers = {"psycopg": libpq(psycopg.connect), "psycopg2": libpq(psycopg2.connect),
           "asyncpg": by_asyncpg, "pg8000": by_pg8000}
for line in sys.stdin:
    name, *case = line.split()
    for driver, log_in in drivers.items():
        try:
            result = log_in(*case)
        except Exception as e:
            result = " ".join(str(e).split())
        if result is not None:  # else it has no such setting
            print(driver, name, result, sep="\t", flush=True)
