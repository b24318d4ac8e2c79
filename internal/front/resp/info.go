package respfront

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// serveInfo says how its commands are answered.
func (all table) serveInfo() {
	all["info"].now = info
	all["config"].subs["get"].now = configGet
	all["config"].subs["set"].now = configSet
	all["config"].subs["resetstat"].refuse = noPermission(
		all["config"].subs["resetstat"])
	all["latency"].subs["latest"].now = emptyArray
	all["latency"].subs["history"].now, all["module"].subs["list"].now = emptyArray, emptyArray
	all["slowlog"].subs["get"].now, all["slowlog"].subs["len"].now = emptyArray, zero
	all["memory"].subs["stats"].now = memoryStats
	all["acl"].subs["whoami"].now = whoAmI
}

// memoryStats says of the memory what exporters ask for.
func memoryStats(t *turn, _ [][]byte) {
	keys, bytes, most := int64(0), int64(0), int64(0)
	if m := t.s.live.Memory; m != nil {
		keys, bytes, most = m()
	}
	t.out = t.c.v.AppendMap(t.out, 4)
	for _, v := range []struct {
		name string
		n    int64
	}{
		{"peak.allocated", most}, {"total.allocated", bytes}, {"keys.count", keys},
		{"dataset.bytes", bytes},
	} {
		t.out = resp.AppendInt(resp.AppendText(t.out, v.name), v.n)
	}
}

func emptyArray(t *turn, _ [][]byte) { t.out = resp.AppendArray(t.out, 0) }

func whoAmI(t *turn, _ [][]byte) { t.out = resp.AppendText(t.out, t.c.Who.Name()) }

// settings are what CONFIG GET knows: clients and tools ask for these.
func settings(t *turn) [][2]string {
	most := int64(0)
	if m := t.s.live.Memory; m != nil {
		_, _, most = m()
	}
	return [][2]string{
		{"save", ""}, {"appendonly", "no"}, {"timeout", "0"},
		{"databases", strconv.Itoa(databases)},
		{"maxmemory", strconv.FormatInt(most, 10)},
		{"maxclients", strconv.Itoa(t.s.live.MaxClients)},
		{"notify-keyspace-events", "AKE"},
		{"slave-read-only", "no"}, {"replica-read-only", "no"},
	}
}

func configGet(t *turn, args [][]byte) {
	var found [][2]string
	for _, s := range settings(t) {
		if slices.ContainsFunc(args[2:], func(p []byte) bool {
			return kv.Match(strings.ToLower(string(p)), s[0])
		}) {
			found = append(found, s)
		}
	}
	t.out = t.c.v.AppendMap(t.out, len(found))
	for _, s := range found {
		t.out = resp.AppendText(resp.AppendText(t.out, s[0]), s[1])
	}
}

func configSet(t *turn, args [][]byte) {
	t.fail("ERR Unknown option or number of arguments for CONFIG SET - '" + clip(args[2]) + "'")
}

// A section is one part of INFO.
type section struct {
	name  string
	lines func(t *turn) [][2]string
}

var sections = []section{
	{"Server", infoServer}, {"Clients", infoClients}, {"Memory", infoMemory},
	{"Persistence", infoPersistence}, {"Stats", infoStats}, {"Replication", infoReplication},
	{"CPU", infoCPU}, {"Modules", nothing}, {"Errorstats", nothing}, {"Cluster", infoCluster},
	{"Keyspace", infoKeyspace}, {"Hotrow", infoHotrow},
}

func info(t *turn, args [][]byte) {
	wanted := make(map[string]bool)
	for _, a := range args[1:] {
		wanted[strings.ToLower(string(a))] = true
	}
	all := len(wanted) == 0 || wanted["all"] || wanted["everything"] || wanted["default"]
	var text []byte
	for _, s := range sections {
		if !all && !wanted[strings.ToLower(s.name)] {
			continue
		}
		if len(text) > 0 {
			text = append(text, "\r\n"...)
		}
		text = append(append(append(text, "# "...), s.name...), "\r\n"...)
		for _, l := range s.lines(t) {
			text = append(append(append(append(text, l[0]...), ':'), l[1]...), "\r\n"...)
		}
	}
	t.out = t.c.v.AppendVerbatim(t.out, text)
}

func count[N int | int64 | uint64](n N) string { return fmt.Sprint(n) }

func nothing(*turn) [][2]string { return nil }

func infoServer(t *turn) [][2]string {
	f := t.c.f
	port := ""
	if a := t.c.Conn.LocalAddr(); a != nil {
		port = a.String()[strings.LastIndexByte(a.String(), ':')+1:]
	}
	up := time.Since(f.began)
	return [][2]string{
		{"redis_version", redisVersion}, {"hotrow_version", t.s.live.Version},
		{"redis_mode", "standalone"}, {"os", runtime.GOOS + " " + runtime.GOARCH},
		{"arch_bits", strconv.Itoa(strconv.IntSize)}, {"process_id", count(os.Getpid())},
		{"run_id", f.runID}, {"tcp_port", port}, {"uptime_in_seconds", count(int(up.Seconds()))},
		{"uptime_in_days", count(int(up.Hours() / 24))},
	}
}

func infoClients(t *turn) [][2]string {
	return [][2]string{
		{"connected_clients", count(t.c.f.Stats().Open)},
		{"maxclients", count(t.s.live.MaxClients)}, {"blocked_clients", "0"},
	}
}

// human returns a size as Redis writes it.
func human(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "G"}, {1 << 20, "M"}, {1 << 10, "K"}} {
		if n >= u.size {
			return fmt.Sprintf("%.2f%s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}

func infoMemory(t *turn) [][2]string {
	var bytes, most int64
	if m := t.s.live.Memory; m != nil {
		_, bytes, most = m()
	}
	return [][2]string{
		{"used_memory", count(bytes)}, {"used_memory_human", human(bytes)},
		{"used_memory_rss", count(mapped())}, {"maxmemory", count(most)},
		{"maxmemory_human", human(most)}, {"maxmemory_policy", "allkeys-lfu"},
	}
}

// mapped returns the bytes that Go has from the system.
func mapped() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}

// infoPersistence never says loading: clients would not use the connection.
func infoPersistence(*turn) [][2]string {
	return [][2]string{{"loading", "0"}, {"rdb_bgsave_in_progress", "0"}, {"aof_enabled", "0"}}
}

func infoStats(t *turn) [][2]string {
	st := t.c.f.Stats()
	return [][2]string{
		{"total_connections_received", count(st.Opened)},
		{"total_commands_processed", count(st.Commands)},
		{"rejected_connections", count(st.Rejected)}, {"expired_keys", "0"}, {"evicted_keys", "0"},
		{"keyspace_hits", count(st.Hits)}, {"keyspace_misses", count(st.Misses + st.Unknown)},
	}
}

func infoReplication(t *turn) [][2]string {
	return [][2]string{{"role", "master"}, {"connected_slaves", "0"},
		{"master_replid", t.c.f.runID}, {"master_repl_offset", "0"}}
}

func infoCPU(*turn) [][2]string {
	system, user := cpuTimes()
	return [][2]string{{"used_cpu_sys", fmt.Sprintf("%.6f", system.Seconds())},
		{"used_cpu_user", fmt.Sprintf("%.6f", user.Seconds())}}
}

func infoCluster(*turn) [][2]string { return [][2]string{{"cluster_enabled", "0"}} }

func infoKeyspace(t *turn) [][2]string {
	n := int64(0)
	if m := t.s.live.Memory; m != nil {
		n, _, _ = m()
	}
	if n == 0 {
		return nil
	}
	return [][2]string{{"db0", fmt.Sprintf("keys=%d,expires=0,avg_ttl=0", n)}}
}

// infoHotrow has a line for each source: how far what is answered is complete.
func infoHotrow(t *turn) [][2]string {
	var list [][2]string
	for _, s := range t.s.live.Resources.Stats().Sources {
		text := fmt.Sprintf("gate=%s,lag_ms=%d,position=%s", s.State, s.Lag.Milliseconds(),
			s.Place)
		if s.Idle {
			text += ",idle=1"
		}
		list = append(list, [2]string{"source_" + s.Name, text})
	}
	sort.Slice(list, func(i, j int) bool { return list[i][0] < list[j][0] })
	return append(list, [2]string{"go_version", buildGo()})
}

func buildGo() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		return b.GoVersion
	}
	return runtime.Version()
}
