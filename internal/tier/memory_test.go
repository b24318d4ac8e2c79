package tier_test

import (
	"fmt"
	"os"
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

func TestReader_AllocatesNothing(t *testing.T) {
	const uuid = "0190b2f4-7b7e-7c7a-8a53-2f1a6f0f8a11"
	for _, filled := range []bool{false, true} {
		m := openMemory(t, 1<<20)
		if filled { // so that reads feed the eviction
			for i := range 2000 {
				put(m, "filler"+strconv.Itoa(i), 1000, 1)
			}
		}
		put(m, "7", 100, 1)
		put(m, uuid, 100, 1)
		m.Put(ref("no-"+uuid), tiertest.Absence(1))
		var r tier.Reader
		for _, tt := range []struct {
			key  string
			want bool
		}{
			{"7", true}, {uuid, true}, {"no-" + uuid, true}, {"8", false}, {uuid + "0", false},
		} {
			t.Run(fmt.Sprintf("filled=%t/%s", filled, tt.key), func(t *testing.T) {
				buf := []byte(tt.key)
				got := testing.AllocsPerRun(2000, func() {
					r.Begin()
					d := r.Get(m, &tier.Ref{Resource: 1, Key: alias(buf)})
					if (d != nil) != tt.want {
						t.Fatalf("Get(%q) = %v, want %v", tt.key, d != nil, tt.want)
					}
				})
				if got != 0 {
					t.Errorf("Get(%q) allocates %v times", tt.key, got)
				}
			})
		}
		r.End()
	}
}

// put puts a document as a resource makes it.
func put(m *tier.Memory, key string, bytes int, generation uint64) {
	ref := ref(key)
	m.Put(ref, tiertest.DocumentOf(ref, bytes, generation))
}

func ref(key string) tier.Ref { return tier.Ref{Resource: 1, Key: row.Key(key)} }

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
