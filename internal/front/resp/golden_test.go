package respfront

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// golden are conversations that have to be equal to those with redis-server 7.0, byte by
// byte. Each is had on a connection of its own, in both versions of the protocol.
var golden = [][]string{
	{"PING", "PING a", "PING a b", "ECHO 'a b'", "ECHO", "ping"},
	{"GET depts:10", "GET depts:99", "MGET depts:10 depts:99 depts:20", "MGET", "GETEX depts:20",
		"EXISTS depts:10 depts:10 depts:99", "TYPE depts:10", "TYPE depts:99", "TTL depts:10", "PTTL depts:99",
		"EXPIRETIME depts:10", "PEXPIRETIME depts:99", "STRLEN depts:10", "STRLEN depts:99", "TOUCH depts:10 depts:99",
		"PERSIST depts:10", "OBJECT ENCODING depts:99", "OBJECT", "OBJECT encoding", "OBJECT nope x",
		"GETRANGE depts:10 0 3", "GETRANGE depts:10 -4 -1", "GETRANGE depts:10 5 2", "GETRANGE depts:10 -1 -5",
		"GETRANGE depts:10 0 100000", "GETRANGE depts:99 0 1", "GETRANGE depts:10 a b", "SUBSTR depts:10 1 2"},
	{"HGETALL h:99", "HGET h:99 a", "HMGET h:99 a b", "HEXISTS h:99 a", "HLEN h:99", "HKEYS h:99", "HVALS h:99",
		"HSTRLEN h:99 a", "HSCAN h:99 0", "HSCAN h:99 x", "HSCAN h:99 0 MATCH", "HSCAN h:99 0 COUNT 0",
		"HSCAN h:99 0 COUNT x", "HGET h:99", "HMGET h:99"},
	{"SELECT 0", "SELECT 15", "SELECT 16", "SELECT -1", "SELECT x", "SELECT"},
	{"MULTI", "GET depts:10", "GET depts:99", "PING", "ECHO x", "EXEC", "EXEC", "DISCARD", "MULTI", "MULTI", "DISCARD",
		"MULTI", "GET", "EXEC", "MULTI", "nope a", "EXEC", "MULTI", "EXEC", "UNWATCH"},
	{"HELLO 4", "HELLO x", "HELLO 3 nope", "HELLO 3 AUTH a", "HELLO 3 SETNAME 'a b'", "HELLO 3 AUTH nobody x", "PING"},
	{"AUTH x", "AUTH default x", "AUTH nobody x", "AUTH a b c", "AUTH"},
	{"CLIENT GETNAME", "CLIENT SETNAME me", "CLIENT GETNAME", "CLIENT SETNAME 'a b'", "CLIENT", "CLIENT NOPE",
		"CLIENT ID x", "CLIENT NO-EVICT on", "CLIENT NO-EVICT maybe", "CLIENT REPLY maybe", "CLIENT REPLY on",
		"CLIENT UNBLOCK 7", "CLIENT UNBLOCK x", "CLIENT UNBLOCK 7 nope", "CLIENT KILL ID 0", "CLIENT KILL ID 999999",
		"CLIENT LIST TYPE nope", "CLIENT LIST ID x", "CLIENT LIST nope", "CLIENT LIST TYPE replica",
		"CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type external-ip"},
	{"RESET", "PING", "CLIENT GETNAME", "QUIT"},
	{"nope", "nope a b", "NOPE 'a b' c", "nope " + strings.Repeat("x", 200) + " y", strings.Repeat("n", 200) + " x"},
	{"CONFIG GET save", "CONFIG GET appendonly", "CONFIG GET databases", "CONFIG GET timeout", "CONFIG GET nope",
		"CONFIG SET nope 1", "CONFIG", "CONFIG NOPE"},
	{"CLUSTER SLOTS", "CLUSTER INFO", "READONLY", "READWRITE", "ASKING"},
	{"ROLE", "WAIT 0 0", "WAIT x 0", "LATENCY LATEST", "SLOWLOG GET", "ACL WHOAMI", "MEMORY USAGE depts:99"},
	{"COMMAND GETKEYS GET a", "COMMAND GETKEYS MGET a b c", "COMMAND GETKEYS PING", "COMMAND GETKEYS nope a",
		"COMMAND GETKEYS GET", "COMMAND INFO nope", "COMMAND LIST FILTERBY PATTERN HGETAL*", "COMMAND NOPE"},
}

// raw are bytes that have the same answer from redis-server, which may be the end.
var raw = []string{
	"PING\r\nGET depts:99\r\n", "*1\r\n$4\r\nPING\r\n*0\r\n*-1\r\n\r\nPING\r\n", "*x\r\n", "*1\r\nPING\r\n",
	"*1\r\n$x\r\n", "*2\r\n$4\r\nPING\r\n$-1\r\n", "get \"a\r\n", "ECHO \"a\\x41\\n\" \r\n",
	"ECHO 'it\\'s'\r\nPING\r\n",
}

func TestGolden_ConversationsAreThoseOfRedis(t *testing.T) {
	redis := dbtest.NewRedis(t)
	r := dialAt(t, "tcp", redis.Addr(), nil)
	r.want("SET depts:10 '"+dept10+"'", "+OK\r\n")
	r.want("SET depts:20 '"+dept20+"'", "+OK\r\n")
	s := newSite(t)
	for _, v := range []string{"2", "3"} {
		for _, talk := range golden {
			a, b := dialAt(t, "tcp", redis.Addr(), nil), s.dial()
			for _, c := range []*client{a, b} {
				if got := c.do("HELLO " + v); !strings.Contains(got, "proto") {
					t.Fatalf("HELLO %s = %q", v, got)
				}
			}
			for _, text := range talk {
				want, got := a.do(text), b.do(text)
				if got != want {
					t.Errorf("version %s: %s = %q, Redis %q", v, text, got, want)
				}
			}
		}
	}
	for _, text := range raw {
		a, b := dialAt(t, "tcp", redis.Addr(), nil), s.dial()
		a.raw(text + "QUIT\r\n")
		b.raw(text + "QUIT\r\n")
		want, got := a.rest(), b.rest()
		if got != want {
			t.Errorf("%q = %q, Redis %q", text, got, want)
		}
	}
}

// rest returns everything up to the end.
func (c *client) rest() (all string) {
	c.t.Helper()
	for {
		text := c.reply()
		if all += text; text == "" {
			return all
		}
	}
}

// TestGolden_CommandsAreDescribedAsByRedis compares what COMMAND INFO says of each command:
// libraries go by its places of keys.
func TestGolden_CommandsAreDescribedAsByRedis(t *testing.T) {
	redis := dbtest.NewRedis(t)
	r, c := dialAt(t, "tcp", redis.Addr(), nil), newSite(t).dial()
	for name := range newTable() {
		if strings.HasPrefix(name, "hotrow.") {
			continue // Redis has none of these
		}
		// The first seven parts: what follows are hints that are not given.
		head := func(reply string) string {
			lines := strings.Split(reply, "\r\n")
			n := 0
			for n < len(lines) && !strings.HasPrefix(lines[n], "+@") {
				n++
			}
			for n < len(lines) && strings.HasPrefix(lines[n], "+@") {
				n++
			}
			return strings.Join(lines[1:min(n, len(lines))], "\n")
		}
		want, got := head(r.do("COMMAND INFO "+name)), head(c.do("COMMAND INFO "+name))
		if got != want {
			t.Errorf("COMMAND INFO %s = %q, Redis %q", name, got, want)
		}
	}
}
