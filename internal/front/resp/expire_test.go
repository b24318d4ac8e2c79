package respfront

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestExpire_FillsPassAndLocksDoNot: with kv.expire: ignore a program that fills its cache
// goes on, and one that takes a lock is told that there is none.
func TestExpire_FillsPassAndLocksDoNot(t *testing.T) {
	s := newSite(t, func(o *Options, _ *kv.Listen) { o.ExpireIgnored = true })
	c := s.dial()
	const n = `'{"n":1}'`
	for _, text := range []string{"SETEX codes:1 60 " + n, "PSETEX codes:2 60000 " + n,
		"SET codes:3 " + n + " EX 60", "SET codes:3 " + n + " XX PX 60"} {
		c.want(text, "+OK\r\n")
	}
	for _, text := range []string{"SET codes:4 " + n + " NX PX 30000", "SET codes:4 " + n + " EX 5 NX",
		"SET codes:4 " + n + " NX PXAT 99999999999999 GET"} {
		c.want(text, "-"+noLocks+"\r\n")
	}
	c.want("EXISTS codes:1 codes:2 codes:3 codes:4", ":3\r\n")
	c.want("SET codes:4 "+n+" NX", "+OK\r\n")
	strict := newSite(t).dial()
	for _, text := range []string{"SETEX codes:1 60 " + n, "PSETEX codes:1 60 " + n} {
		strict.want(text, "-"+noExpiry+"\r\n")
	}
}

// TestGolden_WhatToolsAsk: RedisInsight and exporters get the replies of redis-server.
func TestGolden_WhatToolsAsk(t *testing.T) {
	redis := dbtest.NewRedis(t)
	r := dialAt(t, "tcp", redis.Addr(), nil)
	r.want("SET depts:10 '"+dept10+"'", "+OK\r\n")
	c := newSite(t).dial()
	for _, text := range []string{"OBJECT FREQ depts:10", "OBJECT FREQ depts:99", "OBJECT REFCOUNT depts:10",
		"OBJECT REFCOUNT depts:99", "OBJECT IDLETIME depts:99", "SLOWLOG LEN", "LATENCY HISTORY command",
		"MODULE LIST", "SETEX a 0 1", "SETEX a x 1", "PSETEX a -1 1", "SETEX a 1", "OBJECT FREQ"} {
		if want, got := r.do(text), c.do(text); got != want {
			t.Errorf("%s = %q, Redis %q", text, got, want)
		}
	}
	// Redis counts the seconds since a key was asked for: between two commands one may pass.
	waittest.Until(t, "a key that was asked for just now is idle for no second", func() bool {
		r.do("GET depts:10")
		return r.do("OBJECT IDLETIME depts:10") == c.do("OBJECT IDLETIME depts:10")
	})
	if got := c.do("MEMORY STATS"); !strings.HasPrefix(got, "*8\r\n") || !strings.Contains(got, "keys.count") {
		t.Errorf("MEMORY STATS = %q", got)
	}
	if got := c.do("RANDOMKEY"); !strings.HasPrefix(got, "$") || strings.HasPrefix(got, "$-1") {
		t.Errorf("RANDOMKEY = %q", got)
	}
}
