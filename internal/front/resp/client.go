package respfront

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/wire/resp"
)

// serveClient says how its commands are answered.
func (all table) serveClient() {
	subs := all["client"].subs
	for name, f := range map[string]func(*turn, [][]byte){
		"id": clientID, "info": clientInfo, "list": clientList, "getname": clientName,
		"setname": clientSetName, "setinfo": clientSetInfo, "no-evict": clientOnOff,
		"no-touch": clientOnOff, "reply": clientReply, "kill": clientKill, "unblock": clientUnblock,
		"tracking": clientTracking, "caching": clientCaching, "getredir": clientGetRedir,
		"trackinginfo": clientTrackingInfo,
	} {
		subs[name].now = f
		subs[name].batch = true
	}
	for _, name := range []string{"kill", "reply", "tracking"} {
		subs[name].batch = false
	}
	subs["id"].queued, subs["getname"].queued = true, true
}

const badName = "ERR Client names cannot contain spaces, newlines or special characters."

// isName reports whether a client may call itself so.
func isName(name []byte) bool {
	return !slices.ContainsFunc(name, func(c byte) bool { return c < '!' || c > '~' })
}

func clientID(t *turn, _ [][]byte) { t.out = resp.AppendInt(t.out, int64(t.c.id)) }

func clientName(t *turn, _ [][]byte) {
	t.c.mu.Lock()
	name := t.c.shared.name
	t.c.mu.Unlock()
	if name == "" {
		t.out = t.c.v.AppendNil(t.out)
		return
	}
	t.out = resp.AppendText(t.out, name)
}

func clientSetName(t *turn, args [][]byte) {
	if !isName(args[2]) {
		t.fail(badName)
		return
	}
	name := string(args[2])
	t.c.update(func(s *sharedState) { s.name = name })
	ok(t, args)
}

func clientSetInfo(t *turn, args [][]byte) {
	value := string(args[3])
	switch option := lower(args[2]); {
	case !isName(args[3]):
		t.fail("ERR " + lower(args[2]) + " cannot contain spaces, newlines or special characters.")
		return
	case option == "lib-name":
		t.c.update(func(s *sharedState) { s.lib = value })
	case option == "lib-ver":
		t.c.update(func(s *sharedState) { s.version = value })
	default:
		t.fail("ERR Unrecognized option '" + clip(args[2]) + "'")
		return
	}
	ok(t, args)
}

// clientOnOff takes what means nothing here.
func clientOnOff(t *turn, args [][]byte) {
	if option := lower(args[2]); option != "on" && option != "off" {
		t.fail(syntaxError)
		return
	}
	ok(t, args)
}

func clientReply(t *turn, args [][]byte) {
	switch lower(args[2]) {
	case "on":
		t.c.reply = replyOn
		ok(t, args)
	case "off":
		t.c.reply = replyOff
	case "skip":
		if t.c.reply == replyOn {
			t.c.reply = replySkip
		}
	default:
		t.fail(syntaxError)
	}
}

// line appends what CLIENT LIST says of a connection, in the order of Redis.
func (c *conn) line(dst []byte, now time.Time) []byte {
	c.mu.Lock()
	told, holder, track := c.shared, c.holder, c.track
	subs, patterns := len(c.subs.channels), len(c.subs.patterns)
	c.mu.Unlock()
	last := "NULL"
	if cmd := c.last.Load(); cmd != nil {
		last = cmd.name
	}
	laddr := ""
	if a := c.Conn.LocalAddr(); a != nil {
		laddr = a.String()
	}
	flags := "N"
	for _, f := range []struct {
		is   bool
		flag string
	}{{subs+patterns > 0, "P"}, {told.multi >= 0, "x"}, {track.on, "t"}, {track.broken, "R"},
		{track.bcast, "B"}} {
		if f.is {
			flags = strings.TrimPrefix(flags, "N") + f.flag
		}
	}
	redirect := "-1"
	if track.on {
		redirect = strconv.FormatUint(track.redirect, 10)
	}
	list := []struct{ name, value string }{
		{"id", strconv.FormatUint(c.id, 10)}, {"addr", c.Addr}, {"laddr", laddr}, {"fd", "0"},
		{"name", told.name}, {"age", strconv.Itoa(int(now.Sub(c.born).Seconds()))},
		{"idle", strconv.FormatInt(max(now.Unix()-c.used.Load(), 0), 10)}, {"flags", flags},
		{"db", strconv.Itoa(told.db)},
		{"sub", strconv.Itoa(subs)}, {"psub", strconv.Itoa(patterns)}, {"ssub", "0"},
		{"multi", strconv.Itoa(told.multi)}, {"qbuf", "0"}, {"qbuf-free", "0"},
		{"argv-mem", "0"}, {"multi-mem", "0"}, {"rbs", "0"}, {"rbp", "0"}, {"obl", "0"},
		{"oll", "0"}, {"omem", strconv.Itoa(c.Conn.Backlog())}, {"tot-mem", "0"}, {"events", "r"},
		{"cmd", last}, {"user", holder}, {"redir", redirect}, {"resp", strconv.Itoa(int(told.v))},
		{"lib-name", told.lib}, {"lib-ver", told.version},
	}
	for i, f := range list {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(append(append(dst, f.name...), '='), f.value...)
	}
	return append(dst, '\n')
}

func clientInfo(t *turn, _ [][]byte) {
	t.out = t.c.v.AppendVerbatim(t.out, t.c.line(nil, t.s.Began))
}

// fellows returns the connections with the same token, in the order of their numbers.
func (c *conn) fellows() []*conn {
	c.mu.Lock()
	holder := c.holder
	c.mu.Unlock()
	list := slices.DeleteFunc(c.f.list(), func(o *conn) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.holder != holder
	})
	slices.SortFunc(list, func(a, b *conn) int { return cmp.Compare(a.id, b.id) })
	return list
}

// fellow returns the connection with a number, nil if there is none with the same token.
func (c *conn) fellow(id uint64) *conn {
	for _, o := range c.fellows() {
		if o.id == id {
			return o
		}
	}
	return nil
}

func clientList(t *turn, args [][]byte) {
	ids := make(map[uint64]bool)
	switch rest := args[2:]; {
	case len(rest) == 0:
	case len(rest) == 2 && lower(rest[0]) == "type":
		switch lower(rest[1]) {
		case "normal":
		case "master", "replica", "slave", "pubsub":
			t.out = t.c.v.AppendVerbatim(t.out, nil)
			return
		default:
			t.fail("ERR Unknown client type '" + clip(rest[1]) + "'")
			return
		}
	case len(rest) > 1 && lower(rest[0]) == "id":
		for _, a := range rest[1:] {
			n, ok := resp.ParseInt(a)
			if !ok || n < 1 {
				t.fail("ERR Invalid client ID")
				return
			}
			ids[uint64(n)] = true
		}
	default:
		t.fail(syntaxError)
		return
	}
	var text []byte
	for _, c := range t.c.fellows() {
		if len(ids) == 0 || ids[c.id] {
			text = c.line(text, t.s.Began)
		}
	}
	t.out = t.c.v.AppendVerbatim(t.out, text)
}

// clientKill ends a connection with the same token, within a second.
func clientKill(t *turn, args [][]byte) {
	if len(args) != 4 || lower(args[2]) != "id" {
		t.fail(syntaxError)
		return
	}
	id, isNumber := resp.ParseInt(args[3])
	if !isNumber || id < 1 {
		t.fail("ERR client-id should be greater than 0")
		return
	}
	c := t.c.fellow(uint64(id))
	if c == nil {
		t.out = resp.AppendInt(t.out, 0)
		return
	}
	c.kill.Store(true)
	t.out = resp.AppendInt(t.out, 1)
}

// clientUnblock finds nobody who is blocked.
func clientUnblock(t *turn, args [][]byte) {
	if len(args) > 4 {
		t.fail(syntaxError)
		return
	}
	if len(args) == 4 && !strings.Contains(" timeout error ", " "+lower(args[3])+" ") {
		t.fail("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		return
	}
	if _, isNumber := resp.ParseInt(args[2]); !isNumber {
		t.fail(notInteger)
		return
	}
	zero(t, args)
}
