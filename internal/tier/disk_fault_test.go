package tier_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// filled makes a closed file with n documents under a trusted source, without
// the space behind its last page.
func filled(t *testing.T, n int) (path string) {
	t.Helper()
	w := openWarm(t)
	w.s.Begin(at(10))
	for i := range n {
		w.d.Put(ref(fmt.Sprint(i)), faultDocument(i))
		if i%100 == 0 {
			w.sync()
		}
	}
	w.sync()
	size := w.d.DiskStats().FileBytes
	if err := w.d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(w.path, int64(size)); err != nil {
		t.Fatal(err)
	}
	return w.path
}

func faultDocument(i int) *row.Document { return tiertest.Document(500+i%2000, uint64(i)) }

// trusted opens a file and trusts all that it has.
func trusted(t *testing.T, o tier.DiskOptions) (*tier.Disk, error) {
	t.Helper()
	o.MaxBytes, o.FlushEvery = 8<<20, 10*time.Millisecond
	d, err := tier.OpenDisk(o)
	if err != nil {
		return nil, err
	}
	s := d.Source("main")
	s.Bind(1, "depts v1")
	if m, ok := s.Committed(); ok && s.Resume(m) {
		s.CaughtUp()
	}
	return d, nil
}

// readAll reads n documents and fails for one that is not what was put.
func readAll(t *testing.T, d *tier.Disk, n int) (held int) {
	t.Helper()
	for i := range n {
		got, ok := d.Get(ref(fmt.Sprint(i)))
		if !ok {
			continue
		}
		held++
		if want := faultDocument(i); !bytes.Equal(got.Body(), want.Body()) || got.ETag() != want.ETag() {
			t.Errorf("document %d is not what was put", i)
		}
	}
	return held
}

// TestDisk_NeverGivesOutWhatIsBroken changes bytes of a file at rest, and cuts
// it: each time it opens, and gives out what was put or nothing.
func TestDisk_NeverGivesOutWhatIsBroken(t *testing.T) {
	const documents, rounds = 200, 60
	good, err := os.ReadFile(filled(t, documents))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var all, some, none int
	for i := range rounds {
		broken := damage(r, good, i)
		path := filepath.Join(t.TempDir(), "cache.db")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := trusted(t, tier.DiskOptions{Path: path})
		if err != nil {
			t.Fatalf("round %d: OpenDisk: %v", i, err)
		}
		switch held := readAll(t, d, documents); held {
		case documents:
			all++
		case 0:
			none++
		default:
			some++
		}
		use(t, d)
		if err := d.Close(); err != nil {
			t.Errorf("round %d: Close: %v", i, err)
		}
	}
	t.Logf("of %d damaged files %d gave all, %d some and %d none of their documents", rounds,
		all, some, none)
	if some == 0 || none == 0 {
		t.Error("the damage is too light or too heavy to show anything")
	}
}

// TestDisk_AFaultHoldsNobodyUp cuts the file while many read it: whoever reads
// gets a document or none, and nobody waits for one whom a fault has ended.
func TestDisk_AFaultHoldsNobodyUp(t *testing.T) {
	const documents, rounds, readers = 200, 20, 16
	good, err := os.ReadFile(filled(t, documents))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rounds {
		path := filepath.Join(t.TempDir(), "cache.db")
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := trusted(t, tier.DiskOptions{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan bool, readers)
		for range readers {
			go func() {
				for d.DiskStats().On {
					readAll(t, d, documents)
				}
				ended <- true
			}()
		}
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		for n := range readers {
			select {
			case <-ended:
			case <-time.After(waittest.Limit(30 * time.Second)):
				t.Fatalf("round %d: %d of %d readers hang", i, readers-n, readers)
			}
		}
		if err := d.Close(); err != nil {
			t.Errorf("round %d: Close: %v", i, err)
		}
	}
}

// damage returns a copy with some bytes changed, zeroed pages, or the end cut.
func damage(r *rand.Rand, good []byte, round int) []byte {
	b := bytes.Clone(good)
	switch round % 3 {
	case 0:
		for range 1 + r.IntN(20) {
			b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
		}
	case 1:
		for range 1 + r.IntN(10) {
			page := r.IntN(len(b)/4096) * 4096
			clear(b[page : page+4096])
		}
	default:
		b = b[:r.IntN(len(b))]
	}
	return b
}

// use puts, drops and reads until the tier has committed or given up.
func use(t *testing.T, d *tier.Disk) {
	t.Helper()
	for i := range 50 {
		d.Put(ref(fmt.Sprint(i)), faultDocument(i))
		d.Drop(ref(fmt.Sprint(i + 50)))
	}
	_ = d.Sync() // an error says that the tier is off, and then it gives nothing
	readAll(t, d, 200)
}

// TestDisk_CutWhileOpen: a page that is gone is a fault, and must not end the
// process.
func TestDisk_CutWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut on Windows")
	}
	path := filled(t, 1000)
	var log bytes.Buffer
	d, err := trusted(t, tier.DiskOptions{Path: path, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if held := readAll(t, d, 1000); held != 1000 {
		t.Fatalf("%d documents are held, want 1000", held)
	}
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	if held := readAll(t, d, 1000); held != 0 {
		t.Errorf("%d documents of a file that was cut", held)
	}
	use(t, d)
	if s := d.DiskStats(); s.On || s.Quarantines != 1 {
		t.Errorf("DiskStats = %+v, want it off and the file put aside", s)
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d errors are logged, want one:\n%s", n, log.String())
	}
	wantFiles(t, path, 1)
	again, err := trusted(t, tier.DiskOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if held := readAll(t, again, 1000); held != 0 {
		t.Errorf("%d documents after the file was put aside", held)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// wantFiles fails unless there are n quarantined files and no other but path.
func wantFiles(t *testing.T, path string, n int) {
	t.Helper()
	aside, err := filepath.Glob(path + ".broken-*")
	if err != nil || len(aside) != n {
		t.Errorf("files put aside: %v, %v; want %d", aside, err, n)
	}
}

// TestDisk_KeepsOneBrokenFile: they are large.
func TestDisk_KeepsOneBrokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	for i := range 3 {
		if err := os.WriteFile(path, bytes.Repeat([]byte("rubbish "), 10_000+i), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := tier.OpenDisk(tier.DiskOptions{Path: path, MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if s := d.DiskStats(); !s.On || s.Quarantines != 1 {
			t.Errorf("DiskStats = %+v", s)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		wantFiles(t, path, 1)
	}
}

// TestDisk_OpenErrors are an operator's to mend: the file stays as it is.
func TestDisk_OpenErrors(t *testing.T) {
	path := filled(t, 10)
	d, err := trusted(t, tier.DiskOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trusted(t, tier.DiskOptions{Path: path}); err == nil ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("a second one on the same file: %v", err)
	}
	if held := readAll(t, d, 10); held != 10 {
		t.Errorf("the first has lost %d documents", 10-held)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := trusted(t, tier.DiskOptions{Path: filepath.Dir(path)}); err == nil {
		t.Error("a directory was opened")
	}
	other := filepath.Join(t.TempDir(), "app.db")
	head := append([]byte("SQLite format 3\x00"), make([]byte, 8192)...)
	if err := os.WriteFile(other, head, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trusted(t, tier.DiskOptions{Path: other}); err == nil ||
		!strings.Contains(err.Error(), "database of SQLite") {
		t.Errorf("the database of another program: %v", err)
	}
	wantFiles(t, other, 0)
	none := filepath.Join(filepath.Dir(path), "none", "cache.db")
	if _, err := trusted(t, tier.DiskOptions{Path: none}); err == nil {
		t.Error("a file in no directory was opened")
	}
	wantFiles(t, path, 0)
}

// TestDisk_KeepsNothingWithoutBudget is what memory does, too.
func TestDisk_KeepsNothingWithoutBudget(t *testing.T) {
	for i, maxBytes := range []int64{-1, 0, 100} {
		d := openDisk(t, filepath.Join(t.TempDir(), "cache.db"), maxBytes)
		d.Put(ref("1"), tiertest.Document(100, 1))
		if err := d.Sync(); err != nil {
			t.Fatal(err)
		}
		if s := d.Stats(); s.Entries != 0 {
			t.Errorf("%d: a bound of %d keeps %+v", i, maxBytes, s)
		}
	}
}

// TestDisk_FileStaysNearItsBound: pages that are not full, and those that a
// commit writes anew, come on top of documents; the file must not grow for ever.
func TestDisk_FileStaysNearItsBound(t *testing.T) {
	const bound = 32 << 20
	d := openDisk(t, filepath.Join(t.TempDir(), "cache.db"), bound)
	d.NoSync()
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 100_000 {
		d.Put(ref(fmt.Sprint(r.IntN(60_000))), tiertest.Document(200+r.IntN(3000), uint64(i)))
		if i%1000 == 0 {
			if err := d.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		if i%5 == 0 {
			d.Drop(ref(fmt.Sprint(r.IntN(60_000))))
		}
	}
	s, on := d.DiskStats(), d.Stats()
	t.Logf("bound %d, documents %d, file %d of which free %d", bound, on.Bytes, s.FileBytes, s.FreeBytes)
	if s.FileBytes > bound*3/2 {
		t.Errorf("the file has %d bytes, bound %d", s.FileBytes, bound)
	}
	if s.FileBytes-s.FreeBytes > bound {
		t.Errorf("%d bytes of pages are in use, bound %d", s.FileBytes-s.FreeBytes, bound)
	}
	if on.Bytes < bound/2 {
		t.Errorf("only %d bytes of documents are kept, bound %d", on.Bytes, bound)
	}
}

// A record that is broken leaves the file as any other does when its turn comes: with
// its entry in the index and with what it was counted as.
func TestDisk_ForgetsAllOfABrokenRecord(t *testing.T) {
	for what, slots := range map[string]bool{"its document": false, "its slot, too": true} {
		t.Run(what, func(t *testing.T) {
			const bound, n = 4 << 20, 1500
			d := openDisk(t, filepath.Join(t.TempDir(), "cache.db"), bound)
			d.NoSync()
			put := func(from, to int) {
				t.Helper()
				for i := from; i < to; i++ {
					d.Put(ref(fmt.Sprint(i)), tiertest.Document(1000, uint64(i)))
					if i%100 == 99 {
						if err := d.Sync(); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			put(0, n)
			broken, err := d.Break(slots)
			if err != nil || broken == 0 {
				t.Fatalf("%d records broken, %v", broken, err)
			}
			put(n, 8*n) // until all of the first are evicted
			entries, bytes, astray := d.Indexed()
			s := d.Stats()
			if astray != 0 || s.Entries != entries || s.Bytes != bytes {
				t.Errorf("%d entries of %d lead nowhere; %d entries of %d bytes are counted, there are %d of %d",
					astray, entries, s.Entries, s.Bytes, entries, bytes)
			}
			if s.Bytes < bound/2 {
				t.Errorf("only %d bytes are kept, bound %d", s.Bytes, bound)
			}
		})
	}
}
