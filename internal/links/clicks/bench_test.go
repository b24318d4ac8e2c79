package clicks

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// lines reads a compressed file of testdata.
func lines(t testing.TB, name string) []string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// traffic makes clicks as they come: real user agents, 50,000 visitors, some
// hundred referrers, links by Zipf's law.
type traffic struct {
	agents []string
	links  func() int64
	r      *rand.Rand
}

// newTraffic returns traffic over so many links.
func newTraffic(t testing.TB, links int) *traffic {
	r := rand.New(rand.NewPCG(1, 2))
	f := &traffic{agents: lines(t, "browsers.txt.gz"), r: r, links: func() int64 { return 1 }}
	if links > 1 {
		zipf := rand.NewZipf(r, 1.1, 3, uint64(links-1))
		f.links = func() int64 { return int64(zipf.Uint64()) + 1 }
	}
	return f
}

// next fills in a click.
func (f *traffic) next(rec *clicklog.Record) {
	visitor := f.r.IntN(50_000)
	rec.At, rec.Link = time.Now().UnixMilli(), f.links()
	rec.IP = netip.AddrFrom4([4]byte{100, byte(visitor >> 16), byte(visitor >> 8), byte(visitor)}).As16()
	rec.Agent = append(rec.Agent[:0], f.agents[visitor%len(f.agents)]...)
	rec.Referrer = rec.Referrer[:0]
	if n := f.r.IntN(300); n < 200 {
		rec.Referrer = fmt.Appendf(rec.Referrer, "https://site%d.example/page/%d", n%40, n)
	}
}

// benchmarkDrain fills the log and measures how long it takes to be empty again.
func benchmarkDrain(b *testing.B, kind string, links int) {
	bed := newBed(b, kind, Options{})
	bed.openLog()
	f := newTraffic(b, links)
	var rec clicklog.Record
	for range b.N {
		f.next(&rec)
		bed.append(&rec)
	}
	if err := bed.log.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	bed.start()
	bed.drained()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "clicks/s")
	if n := bed.count("SELECT COUNT(*) FROM clicks"); n != int64(b.N) {
		b.Fatalf("%d rows of %d", n, b.N)
	}
}

func BenchmarkDrain(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres", "mariadb"} {
		for _, links := range []int{1, 30_000} {
			b.Run(fmt.Sprintf("%s/links=%d", kind, links), func(b *testing.B) {
				benchmarkDrain(b, kind, links)
			})
		}
	}
}
