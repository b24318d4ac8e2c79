//go:build unix && !arena_poison && !arena_protect

package tier_test

import (
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// What a Memory takes for each byte of keys and bodies, wherever index and sketch stand between
// two sizes of theirs.
func TestMemory_TakesLittleMoreThanItHolds(t *testing.T) {
	for _, tt := range []struct {
		body int
		most float64
	}{{200, 1.32}, {1600, 1.07}, {10_000, 1.05}} {
		for _, n := range []int{100_000, 125_000, 132_000, 165_000} {
			if tt.body > 200 {
				n /= 10
			}
			m := tier.NewMemory(int64(n*tt.body*3/2) + 16<<20)
			bytes := 0
			for i := range n {
				ref := tier.Ref{Resource: 1, Key: row.Key(fmt.Sprintf("%08d", i))}
				d := tiertest.DocumentOf(ref, tt.body, 1)
				bytes += len(ref.Key) + len(d.Body())
				m.Put(ref, d)
			}
			st := m.Stats()
			if got := float64(st.HeldBytes) / float64(bytes); got > tt.most || st.Evictions > 0 {
				t.Errorf("%d documents of %d bytes: %.3f bytes for each byte, at most %v; %+v",
					n, tt.body, got, tt.most, st)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

var sizing = regexp.MustCompile(`rows × \((\d+\.\d+) × bytes \+ (\d+)\), and (\d+) MiB`)

// What howto/production says that rows need of cache.memory is what they take of it, and what a
// process takes for them, to a part in twenty. Runs alone: it looks at what the process takes.
func TestMemory_TakesWhatTheDocsSay(t *testing.T) {
	const most, besides = 1.05, 4 << 20 // of the process, whatever it holds
	text, err := os.ReadFile("../../docs/howto/production.md")
	if err != nil {
		t.Fatal(err)
	}
	m := sizing.FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("howto/production has no %v", sizing)
	}
	factor, _ := strconv.ParseFloat(m[1], 64)
	each, _ := strconv.ParseFloat(m[2], 64)
	mixed, _ := strconv.ParseFloat(m[3], 64)
	for _, tt := range []struct {
		name  string
		rows  int
		bytes func(i int) int
		mib   float64
	}{
		{"200 bytes", 250_000, func(int) int { return 192 }, 0},
		{"1,600 bytes", 50_000, func(int) int { return 1592 }, 0},
		{"200 to 10,000 bytes", 50_000, func(i int) int { return 192 + i*i%9800 }, mixed},
	} {
		debug.FreeOSMemory()
		before := resident(t)
		m, bytes := tier.NewMemory(256<<20), 0
		for i := range tt.rows {
			ref := tier.Ref{Resource: 1, Key: row.Key(fmt.Sprintf("%08d", i))}
			m.Put(ref, tiertest.DocumentOf(ref, tt.bytes(i), 1))
			bytes += len(ref.Key) + tt.bytes(i)
		}
		debug.FreeOSMemory()
		said := factor*float64(bytes) + each*float64(tt.rows) + tt.mib*(1<<20)
		held, took := float64(m.Stats().HeldBytes), float64(resident(t)-before)
		t.Logf("%s: held %.3f, resident %.3f of %.1f MiB; %.3f for each byte", tt.name, held/said, took/said,
			said/(1<<20), took/float64(bytes))
		if held > most*said || held < said/most || took > most*said+besides {
			t.Errorf("%s: that is not what the docs say", tt.name)
		}
		if st := m.Stats(); st.Evictions > 0 {
			t.Errorf("%s: %+v", tt.name, st)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// resident returns the bytes of the process that are in memory.
func resident(b testing.TB) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("needs /proc: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
