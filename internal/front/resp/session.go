package respfront

import (
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// serveSession says how its commands are answered.
func (all table) serveSession() {
	for name, f := range map[string]func(*turn, [][]byte){
		"ping": ping, "echo": echo, "quit": quit, "reset": reset, "select": choose,
		"time": serverTime, "hello": hello, "auth": auth, "multi": multi, "exec": exec,
		"discard": discard, "unwatch": ok, "role": role, "lastsave": lastSave, "wait": wait,
		"dbsize": dbSize,
	} {
		all[name].now = f
	}
	for _, name := range []string{"ping", "echo", "select", "time", "unwatch"} {
		all[name].queued, all[name].batch = true, true
	}
	for _, name := range []string{"expire", "pexpire", "expireat", "pexpireat", "persist"} {
		all[name].now, all[name].queued, all[name].batch = expire, true, true
	}
	all["persist"].now = zero
	for _, name := range []string{"quit", "reset", "multi", "exec", "discard", "watch"} {
		all[name].always = true
	}
	for _, name := range []string{"multi", "exec", "discard"} {
		all[name].batch = true
	}
	for _, name := range []string{"quit", "reset", "hello", "auth"} {
		all[name].noAuth = true
	}
	all["watch"].refuse = "ERR WATCH is not served"
	for _, name := range []string{"publish", "flushdb", "flushall"} {
		all[name].refuse = noPermission(all[name])
	}
	for _, name := range []string{"readonly", "readwrite", "asking", "cluster"} {
		all[name].refuse = "ERR This instance has cluster support disabled"
	}
}

func upper(name string) string { return strings.ToUpper(name) }

// replies says which replies a client wants.
type replies uint8

const (
	replyOn   replies = iota
	replyOff          // none
	replySkip         // not the next
)

// replies reports whether the client wants the reply of this command.
func (c *conn) replies() bool { return c.reply == replyOn }

func ok(t *turn, _ [][]byte) { t.out = resp.AppendSimple(t.out, "OK") }

func zero(t *turn, _ [][]byte) { t.out = resp.AppendInt(t.out, 0) }

// expire gives no row a time, as if there were none, once the arguments make sense to Redis.
func expire(t *turn, args [][]byte) {
	var onlyNew, onlyOld, greater, less bool
	for _, a := range args[3:] {
		switch lower(a) {
		case "nx":
			onlyNew = true
		case "xx":
			onlyOld = true
		case "gt":
			greater = true
		case "lt":
			less = true
		default:
			t.fail("ERR Unsupported option " + clip(a))
			return
		}
	}
	_, isNumber := resp.ParseInt(args[2])
	switch {
	case onlyNew && (onlyOld || greater || less):
		t.fail("ERR NX and XX, GT or LT options at the same time are not compatible")
	case greater && less:
		t.fail("ERR GT and LT options at the same time are not compatible")
	case !isNumber:
		t.fail(notInteger)
	default:
		zero(t, args)
	}
}

func ping(t *turn, args [][]byte) {
	switch len(args) {
	case 1, 2:
		if t.c.v == resp.V2 && t.c.subs.count() > 0 {
			t.out = resp.AppendText(resp.AppendArray(t.out, 2), "pong")
			t.out = resp.AppendBulk(t.out, append(args[1:], nil)[0])
			return
		}
	}
	switch len(args) {
	case 1:
		t.out = resp.AppendSimple(t.out, "PONG")
	case 2:
		t.out = resp.AppendBulk(t.out, args[1])
	default:
		t.fail("ERR wrong number of arguments for 'ping' command")
	}
}

func echo(t *turn, args [][]byte) { t.out = resp.AppendBulk(t.out, args[1]) }

func quit(t *turn, args [][]byte) {
	ok(t, args)
	t.next = eventloop.Close
}

// reset makes the connection what it was when it began.
func reset(t *turn, _ [][]byte) {
	c := t.c
	t.payFirst()
	c.stopTracking()
	c.dropQueued()
	c.multi, c.reply, c.db, c.v, c.wrote = nil, replyOn, 0, resp.V2, resource.Token{}
	c.Who.Forget()
	c.ReadAs = kv.AsServed
	c.update(func(s *sharedState) {
		*s = sharedState{v: resp.V2, multi: -1, lib: s.lib, version: s.version}
	})
	c.forgetSubscriptions()
	c.holds("default")
	t.out = resp.AppendSimple(t.out, "RESET")
}

// databases is how many names of the same rows there are.
const databases = 16

func choose(t *turn, args [][]byte) {
	n, isNumber := resp.ParseInt(args[1])
	switch {
	case !isNumber || n != int64(int32(n)):
		t.fail(notInteger)
		return
	case n < 0 || n >= databases:
		t.fail("ERR DB index is out of range")
		return
	}
	t.c.db = int(n)
	t.c.update(func(s *sharedState) { s.db = int(n) })
	ok(t, args)
}

func serverTime(t *turn, _ [][]byte) {
	now := time.Now()
	t.out = resp.AppendText(resp.AppendArray(t.out, 2), strconv.FormatInt(now.Unix(), 10))
	t.out = resp.AppendText(t.out, strconv.Itoa(now.Nanosecond()/1000))
}

func role(t *turn, _ [][]byte) {
	t.out = resp.AppendText(resp.AppendArray(t.out, 3), "master")
	t.out = resp.AppendArray(resp.AppendInt(t.out, 0), 0)
}

func lastSave(t *turn, _ [][]byte) { t.out = resp.AppendInt(t.out, t.c.f.began.Unix()) }

func wait(t *turn, args [][]byte) {
	for _, a := range args[1:] {
		if _, ok := resp.ParseInt(a); !ok {
			t.fail(notInteger)
			return
		}
	}
	zero(t, args)
}

func dbSize(t *turn, _ [][]byte) {
	n := int64(0)
	if m := t.s.live.Memory; m != nil {
		n, _, _ = m()
	}
	t.out = resp.AppendInt(t.out, n)
}

const (
	noPassword = "ERR AUTH <password> called without any password configured for the default " +
		"user. Are you sure your configuration is correct?"
	wrongPassword = "WRONGPASS invalid username-password pair or user is disabled."
	helloFirst    = "NOAUTH HELLO must be called with the client already authenticated, " +
		"otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the " +
		"client and select the RESP protocol version at the same time"
)

// enter takes a token. It returns an error, or "".
func (t *turn) enter(user, token string) string {
	c := t.c
	if !t.s.live.HasTokens() {
		if user == "default" {
			return ""
		}
		return wrongPassword
	}
	if c.Who.Identify(t.s.Scope.Live, user, token) {
		c.holds(c.Who.Name())
		return ""
	}
	c.failed++
	c.f.stats.denied.Add(1)
	if c.failed >= front.WrongTokens {
		t.next = eventloop.Close
	}
	return wrongPassword
}

// holds notes whose token the connection has sent, for others to list.
func (c *conn) holds(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holder, c.hears = name, c.Who
}

func auth(t *turn, args [][]byte) {
	user, token := "default", args[len(args)-1]
	switch {
	case len(args) > 3:
		t.fail(syntaxError)
		return
	case len(args) == 3:
		user = string(args[1])
	case !t.s.live.HasTokens():
		t.fail(noPassword)
		return
	}
	if problem := t.enter(user, string(token)); problem != "" {
		t.fail(problem)
		return
	}
	ok(t, args)
}

// hello says who the server is and, when it is asked to, changes the protocol.
func hello(t *turn, args [][]byte) {
	c, v := t.c, t.c.v
	if len(args) > 1 {
		n, isNumber := resp.ParseInt(args[1])
		switch {
		case !isNumber:
			t.fail("ERR Protocol version is not an integer or out of range")
			return
		case n != 2 && n != 3:
			t.fail("NOPROTO unsupported protocol version")
			return
		}
		v = resp.Version(n)
	}
	var user, token, name []byte
	for rest := args[min(2, len(args)):]; len(rest) > 0; {
		switch option := lower(rest[0]); {
		case option == "auth" && len(rest) > 2:
			user, token, rest = rest[1], rest[2], rest[3:]
		case option == "setname" && len(rest) > 1:
			name, rest = rest[1], rest[2:]
			if !isName(name) {
				t.fail(badName)
				return
			}
		default:
			t.fail("ERR Syntax error in HELLO option '" + clip(rest[0]) + "'")
			return
		}
	}
	if user != nil {
		if problem := t.enter(string(user), string(token)); problem != "" {
			t.fail(problem)
			return
		}
	}
	if c.MustAuth(t.s.Scope) {
		t.fail(helloFirst)
		return
	}
	if v != c.v {
		t.payFirst()
	}
	c.v = v
	c.update(func(s *sharedState) {
		s.v = v
		if name != nil {
			s.name = string(name)
		}
	})
	t.greet()
}

// greet says who the server is, in the order of Redis.
func (t *turn) greet() {
	c, v := t.c, t.c.v
	if k := c.track; v == resp.V3 && k.on && k.client == nil {
		c.startTracking(k) // from now on there is a way to tell
	}
	out := c.v.AppendMap(t.out, 7)
	for _, pair := range [][2]string{{"server", "redis"}, {"version", redisVersion}} {
		out = resp.AppendText(resp.AppendText(out, pair[0]), pair[1])
	}
	out = resp.AppendInt(resp.AppendText(out, "proto"), int64(v))
	out = resp.AppendInt(resp.AppendText(out, "id"), int64(c.id))
	for _, pair := range [][2]string{{"mode", "standalone"}, {"role", "master"}} {
		out = resp.AppendText(resp.AppendText(out, pair[0]), pair[1])
	}
	t.out = resp.AppendArray(resp.AppendText(out, "modules"), 0)
}

// redisVersion is what clients go by that keep copies: some do not below 7.4.
const redisVersion = "7.4.0"
