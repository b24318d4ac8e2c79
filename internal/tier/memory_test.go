package tier_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashChild); dir != "" {
		fmt.Fprintln(os.Stderr, runVictim(dir))
		os.Exit(1)
	}
	// A fault in a file that was cut leaves bbolt's locks taken (diskFile.begin).
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.etcd.io/bbolt.(*DB).removeTx"),
		goleak.IgnoreAnyFunction("go.etcd.io/bbolt.(*DB).beginRWTx"))
}

func TestMemory(t *testing.T) {
	tiertest.Run(t, func(t *testing.T) tier.Tier { return openMemory(t, 4<<20) })
}

func openMemory(t testing.TB, maxBytes int64) *tier.Memory {
	m := tier.NewMemory(maxBytes)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return m
}

// alias returns a key that shares the bytes of buf.
func alias(buf []byte) row.Key { return row.Key(unsafe.String(unsafe.SliceData(buf), len(buf))) }

func TestMemory_GetAllocatesNothing(t *testing.T) {
	const uuid = "0190b2f4-7b7e-7c7a-8a53-2f1a6f0f8a11"
	for _, filled := range []bool{false, true} {
		m := openMemory(t, 1<<20)
		if filled { // so that reads feed the eviction policy
			for i := range 2000 {
				put(m, "filler"+strconv.Itoa(i), 1000, 1)
			}
		}
		put(m, "7", 100, 1)
		put(m, uuid, 100, 1)
		m.Put(ref("no-"+uuid), tiertest.Absence(1))
		for _, tt := range []struct {
			key  string
			want bool
		}{
			{"7", true}, {uuid, true}, {"no-" + uuid, true}, {"8", false}, {uuid + "0", false},
		} {
			t.Run(fmt.Sprintf("filled=%t/%s", filled, tt.key), func(t *testing.T) {
				buf := []byte(tt.key)
				got := testing.AllocsPerRun(2000, func() {
					_, ok := m.Get(tier.Ref{Resource: 1, Key: alias(buf)})
					if ok != tt.want {
						t.Fatalf("Get(%q) = %v, want %v", tt.key, ok, tt.want)
					}
				})
				if got != 0 {
					t.Errorf("Get(%q) allocates %v times", tt.key, got)
				}
			})
		}
	}
}

// put puts a document as a resource makes it.
func put(m *tier.Memory, key string, bytes int, generation uint64) {
	ref := ref(key)
	m.Put(ref, tiertest.DocumentOf(ref, bytes, generation))
}

func ref(key string) tier.Ref { return tier.Ref{Resource: 1, Key: row.Key(key)} }

// TestMemory_CountsBytesAsTheyAre compares Stats.Bytes with what the heap has
// grown by.
func TestMemory_CountsBytesAsTheyAre(t *testing.T) {
	tests := []struct {
		name    string
		entries int
		key     string // format of the key
		body    func(i int) int
	}{
		{"short keys, 100 B", 200_000, "%d", func(int) int { return 100 }},
		{"uuid keys, 1.6 KB", 50_000, "0190b2f4-7b7e-7c7a-8a53-%012d",
			func(int) int { return 1600 }},
		{"all sizes up to 4 KiB", 50_000, "%08d", func(i int) int { return i * 7919 % 4096 }},
		{"pages", 2_000, "%d", func(i int) int { return 30_000 + i*7919%70_000 }},
		{"absences", 200_000, "%d", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// The bound is reached, so that the frequency sketch is in the figure.
			m := openMemory(t, fittingBound(tt.entries, tt.key, tt.body))
			before := heapInUse()
			fill(m, tt.entries, tt.key, tt.body)
			grown := float64(heapInUse() - before)
			counted := float64(m.Stats().Bytes)
			t.Logf("%d entries: counted %.1f B each, heap %.1f B each", tt.entries,
				counted/float64(tt.entries), grown/float64(tt.entries))
			if ratio := counted / grown; ratio < 0.94 || ratio > 1.12 {
				t.Errorf("counted / heap = %.3f, want between 0.94 and 1.12", ratio)
			}
			runtime.KeepAlive(m)
		})
	}
}

// fittingBound returns a bound that these entries just about fit into.
func fittingBound(entries int, key string, body func(int) int) int64 {
	m := tier.NewMemory(1 << 40)
	fill(m, entries/10, key, body)
	bytes := int64(m.Stats().Bytes) * 10
	if body == nil {
		return bytes * 22
	}
	return bytes * 11 / 10
}

func fill(m *tier.Memory, entries int, key string, body func(int) int) {
	for i := range entries {
		if body != nil {
			put(m, fmt.Sprintf(key, i), body(i), uint64(i)*0x9e3779b97f4a7c15)
			continue
		}
		m.Put(ref(fmt.Sprintf(key, i)), tiertest.Absence(1))
	}
}

func heapInUse() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

func TestMemory_KeepsNothingWithoutBudget(t *testing.T) {
	for _, maxBytes := range []int64{-1, 0, 1, 100} {
		m := openMemory(t, maxBytes)
		m.Put(ref("1"), tiertest.Document(1, 1))
		m.Put(ref("2"), tiertest.Absence(1))
		if s := m.Stats(); s.Entries != 0 || s.Bytes != 0 {
			t.Errorf("NewMemory(%d) keeps %+v", maxBytes, s)
		}
	}
}

// TestMemory_TakesNoDocumentBeyondAnEighth holds the rule that one document
// cannot push out much of the rest.
func TestMemory_TakesNoDocumentBeyondAnEighth(t *testing.T) {
	m := openMemory(t, 8<<20)
	m.Put(ref("1"), tiertest.Document(800<<10, 1))
	if _, ok := m.Get(ref("1")); !ok {
		t.Error("a document of a tenth of the bound is not kept")
	}
	m.Put(ref("2"), tiertest.Document(1<<20, 1))
	if _, ok := m.Get(ref("2")); ok {
		t.Error("a document of an eighth of the bound is kept")
	}
}
