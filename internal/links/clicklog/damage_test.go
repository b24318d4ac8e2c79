package clicklog

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// written makes a directory with n records in one stream, as a killed process
// leaves it, and returns the files of its segments.
func written(t testing.TB, n int) (dir string, segments []string) {
	t.Helper()
	dir = t.TempDir()
	l, err := Open(small(dir))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		mustAppend(t, l.Writer(0), i)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	segments, err = filepath.Glob(filepath.Join(dir, "0000-00-*.seg"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	return dir, segments
}

// change rewrites a file.
func change(t testing.TB, name string, edit func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, edit(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

// recordsOf returns where the records of a segment's bytes are, and where they end.
func recordsOf(b []byte) (at []int, end int) {
	n := markSize
	for {
		size := int(binary.LittleEndian.Uint32(b[n:]))
		if size == 0 || size > maxRecord {
			return at, n
		}
		at = append(at, n)
		n += (size + 7) &^ 7
	}
}

func TestReader_SkipsAndCountsARecordThatIsBroken(t *testing.T) {
	for _, offset := range []int{0, 1, 4, 8, 16, 24, 32, 34, 40, 60} {
		dir, segments := written(t, 100)
		change(t, segments[0], func(b []byte) []byte {
			at, _ := recordsOf(b)
			b[at[50]+offset] ^= 0x10
			return b
		})
		times, bad := readAll(t, open(t, small(dir)).NewReader(nil))
		if len(times) != 99 || bad != 1 || times[49] != 49 || times[50] != 51 {
			t.Errorf("byte %d flipped: %d records, %d bad", offset, len(times), bad)
		}
	}
}

func TestReader_IgnoresATornEnd(t *testing.T) {
	dir, segments := written(t, 100)
	change(t, segments[0], func(b []byte) []byte {
		at, _ := recordsOf(b)
		binary.LittleEndian.PutUint32(b[at[99]:], 0) // not committed
		return b
	})
	times, bad := readAll(t, open(t, small(dir)).NewReader(nil))
	wantRange(t, times, 0, 99)
	if bad != 0 {
		t.Errorf("%d bad", bad)
	}
}

// A page that a loss of power took is a gap between records.
func TestReader_FindsWhatIsBehindALostPage(t *testing.T) {
	dir, segments := written(t, 200)
	change(t, segments[0], func(b []byte) []byte {
		clear(b[pageSize : 2*pageSize])
		return b
	})
	times, bad := readAll(t, open(t, small(dir)).NewReader(nil))
	if bad != 1 || len(times) < 150 || len(times) > 180 || times[len(times)-1] != 199 {
		t.Errorf("%d records up to %d, %d bad", len(times), times[len(times)-1], bad)
	}
}

func TestReader_CountsATruncatedSegment(t *testing.T) {
	for _, to := range []int64{0, 8, 5000, 5003, 40_000} {
		dir, segments := written(t, 1200) // some segments
		if err := os.Truncate(segments[0], to); err != nil {
			t.Fatal(err)
		}
		times, bad := readAll(t, open(t, small(dir)).NewReader(nil))
		if bad == 0 && to > 0 || bad > 2 || times[len(times)-1] != 1199 {
			t.Errorf("truncated to %d: %d records, %d bad", to, len(times), bad)
		}
	}
}

// The end of a segment that was on no disk when the power went is noticed by the
// segment behind it.
func TestReader_CountsALostEnd(t *testing.T) {
	dir, segments := written(t, 1200)
	change(t, segments[0], func(b []byte) []byte {
		clear(b[len(b)-2*pageSize:])
		return b
	})
	times, bad := readAll(t, open(t, small(dir)).NewReader(nil))
	if bad != 1 || times[len(times)-1] != 1199 {
		t.Errorf("%d records, %d bad", len(times), bad)
	}
}

// Whatever a segment holds, reading ends, returns only records that were written,
// in order, and the log can be written to.
func FuzzReader(f *testing.F) {
	dir, segments := written(f, 120)
	_ = dir
	whole, err := os.ReadFile(segments[0])
	if err != nil {
		f.Fatal(err)
	}
	whole = whole[:16<<10]
	f.Add(whole, uint32(0), byte(0))
	f.Add(whole, uint32(5000), byte(0xff))
	f.Add(whole[:3000], uint32(1), byte(1))
	f.Add(bytes.Repeat([]byte{0xff, 0xff, 0xff, 0xff}, 300), uint32(4), byte(2))
	f.Add(append(bytes.Clone(whole[:100]), whole...), uint32(200), byte(7))
	f.Fuzz(func(t *testing.T, b []byte, at uint32, x byte) {
		o := Options{Dir: t.TempDir(), Segment: minSegment, Keep: 16 * minSegment, Sync: SyncOff}
		l, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 {
			b = bytes.Clone(b)
			b[int(at)%len(b)] ^= x
		}
		name := filepath.Join(o.Dir, segmentName(0, 0, 4))
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		l = open(t, o)
		seq := mustAppend(t, l.Writer(0), 1) // behind what is there
		var batch Batch
		r := l.NewReader(nil)
		last := Seq(0)
		for reads := 0; ; reads++ {
			n, err := r.Read(&batch, 10)
			if err != nil || reads > 10_000 {
				t.Fatal(reads, err)
			}
			for _, rec := range batch.Records {
				if rec.Seq <= last || len(rec.Agent) > MaxAgent || len(rec.Referrer) > MaxReferrer {
					t.Fatalf("record %+v after %d", rec, last)
				}
				last = rec.Seq
			}
			if n == 0 && len(batch.Moves) == 0 {
				break
			}
		}
		if seq != last {
			t.Fatalf("a new record has seq %d, the last one that is read %d", seq, last)
		}
		if seq = mustAppend(t, l.Writer(0), 2); seq <= last {
			t.Fatalf("a new record has seq %d, an old one %d", seq, last)
		}
	})
}

// Random damage anywhere: the records that are returned are those that were
// written, and at most those are missing that the damage touched.
func TestReader_SurvivesRandomDamage(t *testing.T) {
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir, segments := written(t, 900)
		damage := 1 + r.IntN(5)
		for range damage {
			change(t, segments[r.IntN(len(segments))], func(b []byte) []byte {
				b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
				return b
			})
		}
		times, bad := readAll(t, open(t, small(dir)).NewReader(nil))
		if len(times) < 900-damage || bad > damage {
			t.Errorf("seed %d: %d records of 900, %d bad, %d bytes damaged", seed, len(times), bad, damage)
		}
	}
}
