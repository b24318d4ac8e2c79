"""Asks a hotrow what postgrest-py asks, as it is, after calls.mjs, and prints such lines as that does.

python calls.py URL
"""

import json
import sys

from postgrest import CountMethod, SyncPostgrestClient
from postgrest.exceptions import APIError

rest = SyncPostgrestClient(sys.argv[1] + "/rest/v1", headers={"apikey": "anon", "Authorization": "Bearer anon"})


def table(name):
    return rest.from_(name)


def message(number, text="py"):
    return {"id": number, "message": text, "username": "supabot", "channel_id": 1}


CALLS = [
    ("select().eq()", lambda: table("users").select("username").eq("age", 20), [{"username": "dragarcia"}]),
    ("in_()", lambda: table("users").select("age").in_("username", ["supabot", "awailas"]).order("age"),
     [{"age": 22}, {"age": 25}]),
    ("or_(), like(), order()", lambda: table("users").select("username").or_("age.eq.20,username.eq.kiwicopple").like(
        "status", "O%").order("age", desc=True), [{"username": "kiwicopple"}, {"username": "dragarcia"}]),
    ("range()", lambda: table("users").select("age").order("age").range(1, 2), [{"age": 22}, {"age": 25}]),
    ("single()", lambda: table("users").select("age").eq("username", "supabot").single(), {"age": 25}),
    ("single() of none", lambda: table("users").select("age").eq("username", "nobody").single(), "PGRST116"),
    ("maybe_single() of none", lambda: table("users").select("age").eq("username", "nobody").maybe_single(), None),
    ("select(count)", lambda: table("users").select("age", count=CountMethod.exact).eq("age", 20), ([{"age": 20}], 1)),
    ("embedded rows", lambda: table("messages").select("message, users(age)").eq("id", 1),
     [{"message": "Hello World", "users": {"age": 25}}]),
    ("csv()", lambda: table("channels").select("id, slug").order("id").csv(), "id,slug\n1,public\n2,random"),
    ("an unknown column", lambda: table("users").select("nope"), "42703"),
    ("insert()", lambda: table("messages").insert(message(40)), [message(40)]),
    ("insert() of a list", lambda: table("messages").insert([message(41), message(42)]), [message(41), message(42)]),
    ("insert() of a key that is there", lambda: table("messages").insert(message(40)), "23505"),
    ("upsert()", lambda: table("messages").upsert(message(40, "again")), [message(40, "again")]),
    ("update()", lambda: table("messages").update({"message": "new"}).gte("id", 41).lte("id", 42),
     [message(41, "new"), message(42, "new")]),
    ("delete()", lambda: table("messages").delete().in_("id", [40, 41, 42]),
     [message(40, "again"), message(41, "new"), message(42, "new")]),
    ("what was deleted is gone", lambda: table("messages").select("id").gte("id", 40), []),
    ("rpc()", lambda: rest.rpc("get_status", {}), "PGRST202"),
]


def differs(ask, want):
    """Says what an answer has otherwise than it should; "" is nothing."""
    try:
        got = ask().execute()
    except APIError as e:
        if e.code == want:
            return ""
        return f"{e.code}: {e.message}"
    if got is None or want is None:
        return "" if got is want else repr(got)
    data = (got.data, got.count) if isinstance(want, tuple) else got.data
    return "" if data == want else repr(data)


for name, ask, want in CALLS:
    print(json.dumps({"group": "postgrest-py", "name": name, "how": "as PostgREST", "wrong": differs(ask, want)}))
