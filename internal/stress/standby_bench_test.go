package stress

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
)

// BenchmarkStandby_PrimaryCPU measures the processor time that a primary takes while 500 rows
// a second are updated and as many documents are read: without a node, with one that follows
// and reads it, and with one that follows and reads its standby. node-ms/s is that of the
// processes which serve the node: what all use differs from run to run, as the updates
// themselves do. An iteration lasts a second (-benchtime 5x -count 5).
func BenchmarkStandby_PrimaryCPU(b *testing.B) {
	p := newPair(b)
	conn := testbed.Dial(b, p.url)
	testbed.MustExec(b, conn, "CREATE TABLE flat (id int PRIMARY KEY, value bigint)",
		"INSERT INTO flat SELECT i, 0 FROM generate_series(1, 1000) i")
	nodes := map[string]func(b *testing.B) source.Source{
		"primary": func(b *testing.B) source.Source { return testbed.OpenPostgres(b, p.url) },
		"standby": func(b *testing.B) source.Source { return p.open(b) },
	}
	for _, name := range []string{"none", "primary", "standby"} {
		b.Run("node="+name, func(b *testing.B) {
			others := make(map[int]bool)
			for _, pid := range p.primary.Pids() {
				others[pid] = true
			}
			var r *resource.Resource
			if open := nodes[name]; open != nil {
				r = newStandOver(b, open(b), plan{Specs: []resource.Spec{testbed.Spec("flat")},
					Mode: source.FeedLogical}).Resource("flat")
			}
			pace := time.NewTicker(2 * time.Millisecond)
			defer pace.Stop()
			begin, at := cpuOf(b, p.primary), time.Now()
			first := usedBy(p.primary, others)
			for b.Loop() {
				for n := range 500 {
					<-pace.C
					testbed.MustExec(b, conn, fmt.Sprintf("UPDATE flat SET value = value + 1 WHERE id = %d", n+1))
					if r == nil {
						continue
					}
					key := row.Key(strconv.Itoa(n + 2))
					if _, err := r.Get(b.Context(), key, resource.Options{}); err != nil {
						b.Fatal(err)
					}
				}
			}
			took := float64(cpuOf(b, p.primary)-begin) / float64(time.Millisecond)
			seconds := time.Since(at).Seconds()
			b.ReportMetric(took/seconds, "primary-ms/s")
			node := 0.0
			for pid, used := range usedBy(p.primary, others) {
				node += (used - first[pid]).Seconds() * 1000
			}
			b.ReportMetric(node/seconds, "node-ms/s")
		})
	}
}

// usedBy returns the processor time of each process of a server but others.
func usedBy(s *dbtest.Server, others map[int]bool) map[int]time.Duration {
	used := make(map[int]time.Duration)
	for _, pid := range s.Pids() {
		if others[pid] {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			continue // it has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		if ns, err := strconv.ParseInt(first, 10, 64); err == nil {
			used[pid] = time.Duration(ns)
		}
	}
	return used
}

// cpuOf returns the processor time of a server's processes, and of those that have ended.
func cpuOf(b *testing.B, s *dbtest.Server) time.Duration {
	b.Helper()
	total := int64(0)
	for _, pid := range s.Pids() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		for _, at := range []int{11, 12, 13, 14} { // utime, stime and those of children
			if f := strings.Fields(rest); at < len(f) {
				n, err := strconv.ParseInt(f[at], 10, 64)
				if err != nil {
					b.Fatal(err)
				}
				total += n
			}
		}
	}
	return time.Duration(total) * 10 * time.Millisecond
}
