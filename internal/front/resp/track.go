package respfront

import (
	"context"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

const (
	// flushGap is how long after a flush another one waits.
	flushGap = 50 * time.Millisecond

	// repeatAfter is when the invalidation of a key is repeated that no feed follows: some
	// clients keep an answer only after they have read the message behind it.
	repeatAfter = 100 * time.Millisecond
)

// tracking is what CLIENT TRACKING has set. The goroutine that owns the connection changes
// it, with conn.mu held; others read it with conn.mu held.
type tracking struct {
	on, bcast, optIn, optOut, noLoop bool
	caching                          bool // CLIENT CACHING has been said for what is next
	broken                           bool // the connection redirected to has gone
	redirect                         uint64
	prefixes                         []string
	client                           *kv.Tracked // nil: nobody is told

	// under has the keys whose reads are under way, and whether they have changed since.
	// Such an invalidation goes out at once, and again right behind the answer: it may be
	// in front of that, which is of before.
	under    map[string]bool
	underAll bool // all of them have

	flushed  time.Time // when everything was told last
	flushing bool      // and will be once more
}

// tracks returns who is to be noted for the keys of a command, nil for nobody.
func (c *conn) tracks() *kv.Tracked {
	k := &c.track
	switch {
	case k.client == nil || k.bcast:
		return nil
	case k.optIn && !k.caching && !c.cached, k.optOut && (k.caching || c.cached):
		return nil
	}
	return k.client
}

// reads notes that the keys of a command are being read.
func (c *conn) reads(cmd *command, args [][]byte) {
	if c.track.client == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.track.under == nil {
		c.track.under = make(map[string]bool)
	}
	for _, k := range cmd.keys(args) {
		key := string(k)
		if _, reads := c.track.under[key]; !reads {
			c.track.under[key] = false
		}
	}
}

// resume goes on with a connection that was parked. What has changed since its reads began
// is told again behind their answers.
func (c *conn) resume(out []byte, next eventloop.Next) {
	uncacheable := c.uncacheable // before the connection is its loop's again
	c.uncacheable = nil
	defer c.invalidateUncacheable(uncacheable)
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &c.track
	var again []string
	for key, changed := range k.under {
		if changed {
			again = append(again, key)
		}
	}
	all := k.underAll
	k.under, k.underAll = nil, false
	c.Conn.ResumeThen(out, next)
	switch {
	case k.client == nil:
	case all:
		c.push(nil)
	case len(again) > 0:
		c.push(again)
	}
}

// Invalidate implements kv.Listener.
func (c *conn) Invalidate(keys []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.track.client == nil {
		return
	}
	for _, key := range keys {
		if _, reads := c.track.under[key]; reads {
			c.track.under[key] = true
		}
	}
	c.push(keys)
}

// Flush implements kv.Listener.
func (c *conn) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.track.client == nil {
		return
	}
	k := &c.track
	k.underAll = len(k.under) > 0
	now := time.Now()
	if since := now.Sub(k.flushed); since < flushGap {
		if !k.flushing {
			k.flushing = true
			time.AfterFunc(flushGap-since, c.flushAgain)
		}
		return
	}
	k.flushed = now
	c.push(nil)
}

// flushAgain is the flush that has waited.
func (c *conn) flushAgain() {
	c.mu.Lock()
	c.track.flushing = false
	c.mu.Unlock()
	c.Flush()
}

// MayRead implements kv.Listener.
func (c *conn) MayRead(r *resource.Resource) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.f.store.Live()
	return c.hears.Passes(o, o.IssuedNow(), r.Access().Read)
}

// push tells the client of keys, nil: that anything may have changed. c.mu is held.
func (c *conn) push(keys []string) {
	k := &c.track
	if k.redirect == 0 {
		if c.shared.v == resp.V3 {
			c.sendKeys(keys, k.bcast)
		}
		return
	}
	id, holder, bcast := k.redirect, c.holder, k.bcast
	target := c.f.conn(id)
	if target == nil {
		c.breakRedirect(id)
		return
	}
	// Another goroutine takes the other lock: two connections may redirect to each other.
	c.f.store.Go(func(context.Context) {
		if !target.hear(holder, keys, bcast) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.breakRedirect(id)
		}
	})
}

// hear tells a connection of keys for another one that redirects to it. It reports false
// when that is of another holder, since one of the two has sent a token.
func (c *conn) hear(holder string, keys []string, bcast bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holder != holder {
		return false
	}
	if !c.ended && c.hearsKeys() {
		c.sendKeys(keys, bcast)
	}
	return true
}

// breakRedirect notes, and tells once, that the connection to which this one redirects
// hears nothing of it any more. c.mu is held.
func (c *conn) breakRedirect(id uint64) {
	k := &c.track
	if k.redirect != id || k.broken {
		return
	}
	k.broken = true
	if !c.ended && c.shared.v == resp.V3 {
		out := resp.AppendText(resp.V3.AppendPush(nil, 2), "tracking-redir-broken")
		c.Conn.Send(resp.AppendInt(out, int64(id)))
	}
}

// invalidateChannel is where a client of RESP2 hears of changes.
const invalidateChannel = "__redis__:invalidate"

// invalidation returns the messages that tell of keys, nil: of everything. One has several
// keys for who has asked for bcast, and one key for all others: so it is with Redis, and
// there are clients that pass over what is behind a key of which they keep nothing any more.
func invalidation(v resp.Version, keys []string, bcast bool) (out []byte) {
	most := 1
	if bcast {
		most = front.InvalidationKeys
	}
	for first := true; first || len(keys) > 0; first = false {
		if v == resp.V3 {
			out = resp.AppendText(resp.V3.AppendPush(out, 2), "invalidate")
		} else {
			out = resp.AppendText(resp.AppendArray(out, 3), "message")
			out = resp.AppendText(out, invalidateChannel)
		}
		if keys == nil {
			return v.AppendNil(out)
		}
		some := keys[:min(len(keys), most)]
		keys = keys[len(some):]
		out = resp.AppendArray(out, len(some))
		for _, key := range some {
			out = resp.AppendText(out, key)
		}
	}
	return out
}

// appendUncacheable appends the keys whose answers no feed follows: nobody may keep them.
func appendUncacheable(list []string, keys [][]byte, found []kv.Found) []string {
	for i := range found {
		if f := &found[i]; f.Uncacheable || f.Inexact {
			list = append(list, string(keys[i]))
		}
	}
	return list
}

// invalidateUncacheable tells, behind their answers, of keys that nobody may keep, and once more a
// little later.
func (c *conn) invalidateUncacheable(keys []string) {
	if len(keys) == 0 {
		return
	}
	tell := func() { c.Invalidate(keys) }
	tell()
	time.AfterFunc(repeatAfter, tell)
}

// stopTracking makes the connection one whose client keeps no copies.
func (c *conn) stopTracking() {
	if c.track.client != nil {
		c.f.store.Tracker().Leave(c.track.client)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.track = tracking{flushing: c.track.flushing}
}

// overlap returns the error of prefixes of which one begins with another.
func overlap(old, more []string) string {
	if len(old)+len(more) > front.SubscribedNames {
		return "ERR too many prefixes"
	}
	for i, p := range more {
		for _, q := range old {
			if strings.HasPrefix(p, q) || strings.HasPrefix(q, p) {
				return "ERR Prefix '" + p + "' overlaps with an existing prefix '" + q +
					"'. Prefixes for a single client must not overlap."
			}
		}
		for _, q := range more[i+1:] {
			if strings.HasPrefix(p, q) || strings.HasPrefix(q, p) {
				return "ERR Prefix '" + p + "' overlaps with another provided prefix '" + q +
					"'. Prefixes for a single client must not overlap."
			}
		}
	}
	return ""
}

// trackingOptions reads the options of CLIENT TRACKING ON.
func (t *turn) trackingOptions(args [][]byte) (k tracking, problem string) {
	for rest := args; len(rest) > 0; rest = rest[1:] {
		switch option := lower(rest[0]); {
		case option == "redirect" && len(rest) > 1:
			if k.redirect != 0 {
				return k, "ERR A client can only redirect to a single other client"
			}
			rest = rest[1:]
			id, ok := resp.ParseInt(rest[0])
			if !ok {
				return k, notInteger
			}
			if id < 1 || t.c.fellow(uint64(id)) == nil {
				return k, "ERR The client ID you want redirect to does not exist"
			}
			k.redirect = uint64(id)
		case option == "prefix" && len(rest) > 1:
			rest = rest[1:]
			k.prefixes = append(k.prefixes, string(rest[0]))
		case option == "bcast":
			k.bcast = true
		case option == "optin":
			k.optIn = true
		case option == "optout":
			k.optOut = true
		case option == "noloop":
			k.noLoop = true
		default:
			return k, syntaxError
		}
	}
	return k, ""
}

// refusesTracking says why the options of k cannot be had now, if so.
func (c *conn) refusesTracking(k *tracking) string {
	const again = " before disabling tracking for this client, and then re-enabling it with a " +
		"different mode."
	old := &c.track
	switch {
	case !k.bcast && len(k.prefixes) > 0:
		return "ERR PREFIX option requires BCAST mode to be enabled"
	case old.on && old.bcast != k.bcast:
		return "ERR You can't switch BCAST mode on/off" + again
	case k.bcast && (k.optIn || k.optOut):
		return "ERR OPTIN and OPTOUT are not compatible with BCAST"
	case k.optIn && k.optOut:
		return "ERR You can't specify both OPTIN mode and OPTOUT mode"
	case k.optIn && old.optOut || k.optOut && old.optIn:
		return "ERR You can't switch OPTIN/OPTOUT mode" + again
	case k.bcast:
		return overlap(old.prefixes, k.prefixes)
	}
	return ""
}

func clientTracking(t *turn, args [][]byte) {
	c := t.c
	k, problem := t.trackingOptions(args[3:])
	if problem != "" {
		t.fail(problem)
		return
	}
	switch lower(args[2]) {
	case "off":
		c.stopTracking()
	case "on":
		if problem := c.refusesTracking(&k); problem != "" {
			t.fail(problem)
			return
		}
		c.startTracking(k)
	default:
		t.fail(syntaxError)
		return
	}
	ok(t, args)
}

// startTracking makes the connection one whose client keeps copies.
func (c *conn) startTracking(k tracking) {
	k.on = true
	if k.bcast {
		k.prefixes = append(append([]string(nil), c.track.prefixes...), k.prefixes...)
	}
	old := c.track.client
	switch {
	case old != nil && !k.bcast: // what was read before is followed still
		k.client, old = old, nil
	case c.v == resp.V3 || k.redirect != 0: // in RESP2 without REDIRECT nobody is told
		k.client = c.f.store.Tracker().Join(c, k.bcast, k.prefixes)
	}
	c.mu.Lock()
	k.flushed, k.flushing = c.track.flushed, c.track.flushing
	c.track = k
	c.mu.Unlock()
	if old != nil {
		c.f.store.Tracker().Leave(old)
	}
}

func clientCaching(t *turn, args [][]byte) {
	k := &t.c.track
	switch word := lower(args[2]); {
	case !k.on:
		t.fail("ERR CLIENT CACHING can be called only when the client is in tracking mode with " +
			"OPTIN or OPTOUT mode enabled")
		return
	case word == "yes" && !k.optIn:
		t.fail("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
		return
	case word == "no" && !k.optOut:
		t.fail("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
		return
	case word != "yes" && word != "no":
		t.fail(syntaxError)
		return
	}
	t.c.mu.Lock()
	k.caching = true
	t.c.mu.Unlock()
	ok(t, args)
}

func clientGetRedir(t *turn, _ [][]byte) {
	id := int64(-1)
	if t.c.track.on {
		id = int64(t.c.track.redirect)
	}
	t.out = resp.AppendInt(t.out, id)
}

func clientTrackingInfo(t *turn, _ [][]byte) {
	t.c.mu.Lock()
	k := t.c.track
	t.c.mu.Unlock()
	var flags []string
	for _, f := range []struct {
		is   bool
		name string
	}{
		{!k.on, "off"}, {k.on, "on"}, {k.bcast, "bcast"}, {k.optIn, "optin"},
		{k.optIn && k.caching, "caching-yes"}, {k.optOut, "optout"},
		{k.optOut && k.caching, "caching-no"}, {k.noLoop, "noloop"}, {k.broken, "broken_redirect"},
	} {
		if f.is {
			flags = append(flags, f.name)
		}
	}
	id := int64(-1)
	if k.on {
		id = int64(k.redirect)
	}
	v := t.c.v
	out := resp.AppendText(v.AppendMap(t.out, 3), "flags")
	out = v.AppendSet(out, len(flags))
	for _, f := range flags {
		out = resp.AppendText(out, f)
	}
	out = resp.AppendInt(resp.AppendText(out, "redirect"), id)
	out = resp.AppendArray(resp.AppendText(out, "prefixes"), len(k.prefixes))
	for _, p := range k.prefixes {
		out = resp.AppendText(out, p)
	}
	t.out = out
}
