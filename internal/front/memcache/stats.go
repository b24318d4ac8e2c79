package memcachefront

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

// stats counts what no loop counts for itself.
type stats struct {
	opened, broken, denied atomic.Uint64
	absent                 atomic.Uint64 // keys without a row, read from the database
}

// Stats are the counters of a Front.
type Stats struct {
	kv.Stats
	Open     int    // connections now
	Opened   uint64 // since the start
	Broken   uint64 // connections that ended because of what their peer sent
	Denied   uint64 // wrong tokens
	Commands uint64
	Keys     uint64 // that were asked for
	Absent   uint64 // of them, those that have no row
	Writes   uint64 // commands that change a row, done or not
}

// Stats returns a snapshot of the counters.
func (f *Front) Stats() Stats {
	st := Stats{
		Stats: f.store.Stats(), Opened: f.stats.opened.Load(),
		Broken: f.stats.broken.Load(), Denied: f.stats.denied.Load(),
		Absent: f.stats.absent.Load(),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	st.Open = f.open
	for _, s := range f.scopes {
		st.Commands += s.commands.Load()
		st.Keys += s.keys.Load()
		st.Absent += s.absent.Load()
		st.Writes += s.writes.Load()
	}
	return st
}

// protocolVersion is what clients go by that have learnt what memcached can: some want
// three numbers and nothing else.
const protocolVersion = "1.6.45"

// other answers what is no read of rows.
func (t *turn) other(cmd *memcache.Command) bool {
	switch cmd.Op {
	case memcache.MetaNoop:
		t.line("MN")
	case memcache.Version:
		t.line("VERSION " + protocolVersion)
	case memcache.Verbosity:
		t.reply(cmd, "OK")
	case memcache.MemLimit, memcache.FlushAll:
		t.reply(cmd, forbidden)
	case memcache.Crawler:
		t.line("END")
	case memcache.Shutdown:
		t.line("ERROR: shutdown not enabled")
	case memcache.Quit:
		t.next = eventloop.Close
	case memcache.Stats:
		t.stats(cmd)
	default:
		return t.write(cmd)
	}
	return true
}

// stats answers stats and its kinds.
func (t *turn) stats(cmd *memcache.Command) {
	kind := ""
	if len(cmd.Args) > 0 {
		kind = string(cmd.Args[0])
	}
	switch kind {
	case "":
		t.general()
	case "settings":
		t.settings()
	case "items", "slabs", "conns":
	case "sizes":
		t.out = memcache.AppendStat(t.out, "sizes_status", "disabled")
	case "reset":
		t.line("RESET")
		return
	case "detail":
		t.detail(cmd)
		return
	default:
		t.line(memcache.Error)
		return
	}
	t.line("END")
}

func (t *turn) detail(cmd *memcache.Command) {
	what := ""
	if len(cmd.Args) > 1 {
		what = string(cmd.Args[1])
	}
	switch what {
	case "on", "off":
		t.line("OK")
	case "dump":
		t.line("END")
	default:
		t.line("CLIENT_ERROR usage: stats detail on|off|dump")
	}
}

// general is stats without a kind: what exporters ask for, and more of our own.
func (t *turn) general() {
	f, st := t.c.f, t.c.f.Stats()
	var keys, bytes, most int64
	if m := t.s.live.Memory; m != nil {
		keys, bytes, most = m()
	}
	now := time.Now()
	for _, s := range [][2]string{
		{"pid", strconv.Itoa(os.Getpid())}, {"uptime", count(int(now.Sub(f.began).Seconds()))},
		{"time", count(now.Unix())},
		{"version", protocolVersion}, {"hotrow_version", t.s.live.Version},
		{"pointer_size", strconv.Itoa(strconv.IntSize)},
		{"max_connections", count(t.s.live.MaxClients)}, {"curr_connections", count(st.Open)},
		{"total_connections", count(st.Opened)}, {"rejected_connections", count(st.Rejected)},
		{"cmd_get", count(st.Keys)}, {"cmd_set", count(st.Writes)},
		{"cmd_flush", "0"}, {"cmd_touch", "0"},
		{"get_hits", count(st.Keys - min(st.Absent, st.Keys))}, {"get_misses", count(st.Absent)},
		{"auth_cmds", "0"}, {"auth_errors", count(st.Denied)},
		{"limit_maxbytes", count(most)}, {"threads", count(runtime.GOMAXPROCS(0))},
		{"bytes", count(bytes)}, {"curr_items", count(keys)}, {"total_items", count(st.Misses)},
		{"evictions", "0"}, {"hotrow_memory_hits", count(st.Hits)},
		{"hotrow_loaded", count(st.Misses)}, {"hotrow_queries", count(st.Batches)},
		{"hotrow_unknown_keys", count(st.Unknown)},
	} {
		t.out = memcache.AppendStat(t.out, s[0], s[1])
	}
	for _, s := range t.s.Live.Resources.Stats().Sources {
		text := fmt.Sprintf("%s lag_ms=%d", s.State, s.Lag.Milliseconds())
		if s.Idle {
			text += " idle"
		}
		t.out = memcache.AppendStat(t.out, "hotrow_source_"+s.Name, text)
	}
}

func (t *turn) settings() {
	most := int64(0)
	if m := t.s.live.Memory; m != nil {
		_, _, most = m()
	}
	for _, s := range [][2]string{
		{"maxbytes", count(most)}, {"maxconns", count(t.s.live.MaxClients)},
		{"cas_enabled", "yes"}, {"auth_enabled_ascii", yesNo(t.s.Live.HasTokens())},
		{"item_size_max", count(t.c.f.limits.Value)}, {"flush_enabled", "no"},
		{"num_threads", count(runtime.GOMAXPROCS(0))}, {"udpport", "0"},
	} {
		t.out = memcache.AppendStat(t.out, s[0], s[1])
	}
}

func count[N int | int64 | uint64](n N) string { return fmt.Sprint(n) }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
