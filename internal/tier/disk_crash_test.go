package tier_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

var crashRounds = flag.Int("crash.rounds", 100, "rounds of TestDisk_SurvivesKill")

// crashChild, when set, makes the test binary the child of TestDisk_SurvivesKill:
// its value is the directory.
const crashChild = "HOTROW_TEST_DISK_CRASH"

// crashKeys is how many keys the simulated database has.
const crashKeys = 300

// A history is a database whose changes are made of a seed: change p touches
// touched(p), and a key's version is the last change that touched it.
type history struct {
	seed     uint64
	pos      uint64
	versions [crashKeys]uint64
}

// touched returns the keys of change p; whole: all of them.
func (h *history) touched(p uint64) (keys []int, whole bool) {
	r := rand.New(rand.NewPCG(h.seed, p))
	if r.IntN(200) == 0 {
		return nil, true
	}
	for range 1 + r.IntN(3) {
		keys = append(keys, r.IntN(crashKeys))
	}
	return keys, false
}

// to moves the history on to position p.
func (h *history) to(p uint64) {
	for h.pos < p {
		h.pos++
		keys, whole := h.touched(h.pos)
		for _, k := range keys {
			h.versions[k] = h.pos
		}
		for k := range h.versions {
			if whole {
				h.versions[k] = h.pos
			}
		}
	}
}

// crashDocument is version v of key k. Its size goes from nothing to some pages.
func crashDocument(k int, v uint64, s row.Stamp) *row.Document {
	text := fmt.Sprintf("%d %d ", k, v)
	body := strings.Repeat(text, 1+int(v*7919%600)*int(1+v%3))
	return row.NewDocument("", row.FormatJSON, []byte(body), v, s)
}

// version reads back what crashDocument has made, and reports false for anything
// else.
func crashVersion(k int, d *row.Document) (uint64, bool) {
	var key int
	var v uint64
	if _, err := fmt.Sscanf(string(d.Body()), "%d %d ", &key, &v); err != nil || key != k {
		return 0, false
	}
	want := crashDocument(k, v, d.Stamp())
	return v, string(want.Body()) == string(d.Body()) && want.ETag() == d.ETag()
}

func crashRef(k int) tier.Ref {
	return tier.Ref{Resource: 7, Key: row.Key("key " + strconv.Itoa(k))}
}

// openCrashed opens the disk of dir.
func openCrashed(dir string) (*tier.Disk, *tier.DiskSource, error) {
	d, err := tier.OpenDisk(tier.DiskOptions{Path: filepath.Join(dir, "cache.db"),
		MaxBytes: 2 << 20, Batch: 40, FlushEvery: 2 * time.Millisecond})
	if err != nil {
		return nil, nil, err
	}
	s := d.Source("db")
	s.Bind(7, "table")
	return d, s, nil
}

// position returns how far the simulated database of dir has come.
func position(dir string) (uint64, error) {
	b, err := os.ReadFile(filepath.Join(dir, "position"))
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(b) == 0: // killed before the first change
		return 0, nil
	case err != nil:
		return 0, err
	case len(b) != 8:
		return 0, fmt.Errorf("position: %d bytes", len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

// A victim is the child: it follows the simulated database, keeps documents and
// says what is committed, until it is killed.
type victim struct {
	h    *history
	d    *tier.Disk
	s    *tier.DiskSource
	r    *rand.Rand
	file *os.File // holds the position of the database, which no kill undoes
}

// runVictim is the main function of the child.
func runVictim(dir string) error {
	d, s, err := openCrashed(dir)
	if err != nil {
		return err
	}
	now, err := position(dir)
	if err != nil {
		return err
	}
	v := &victim{h: &history{seed: 1}, d: d, s: s, r: rand.New(rand.NewPCG(rand.Uint64(), 1))}
	if v.file, err = os.OpenFile(filepath.Join(dir, "position"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if err := v.catchUp(now); err != nil {
		return err
	}
	fmt.Println("ready")
	for said := (tier.Mark{}); ; {
		if err := v.step(); err != nil {
			return err
		}
		if m, ok := s.Committed(); ok && m != said {
			fmt.Printf("committed %d\n", m.Pos)
			said = m
		}
	}
}

// catchUp delivers what came after the committed position, and looks whether the
// disk is exact then.
func (v *victim) catchUp(now uint64) error {
	m, known := v.s.Committed()
	if !known || !v.s.Resume(m) {
		v.s.Begin(tier.Mark{Origin: "o", Pos: now})
		v.h.to(now)
		return v.exact()
	}
	for k := range crashKeys {
		if _, ok := v.d.Get(crashRef(k)); ok {
			return fmt.Errorf("key %d is handed out before the feed has caught up", k)
		}
	}
	v.h.to(m.Pos)
	for v.h.pos < now {
		v.deliver()
	}
	v.s.CaughtUp()
	return v.exact()
}

// exact compares every key with the database.
func (v *victim) exact() error {
	held := 0
	for k := range crashKeys {
		d, ok := v.d.Load(crashRef(k), row.Stamp{Epoch: 9})
		if !ok {
			continue
		}
		held++
		if got, ok := crashVersion(k, d); !ok || got != v.h.versions[k] {
			return fmt.Errorf("key %d at %d: version %d (%t), the database has %d",
				k, v.h.pos, got, ok, v.h.versions[k])
		}
	}
	fmt.Printf("held %d\n", held)
	return nil
}

// deliver applies the next change as a feed does.
func (v *victim) deliver() {
	v.h.to(v.h.pos + 1)
	keys, whole := v.h.touched(v.h.pos)
	for _, k := range keys {
		v.d.Drop(crashRef(k))
	}
	if whole {
		v.d.DropAll(7)
		v.d.DropAll(7)
	}
	if v.r.IntN(3) > 0 {
		v.s.Applied(tier.Mark{Origin: "o", Pos: v.h.pos})
	}
}

// commit makes n changes in the database.
func (v *victim) commit(n uint64) error {
	_, err := v.file.WriteAt(binary.BigEndian.AppendUint64(nil, v.h.pos+n), 0)
	return err
}

func (v *victim) step() error {
	k := v.r.IntN(crashKeys)
	switch n := v.r.IntN(1000); {
	case n < 500:
		ticket := v.d.Ticket(7)
		v.d.PutUnder(ticket, crashRef(k), crashDocument(k, v.h.versions[k], row.Stamp{Epoch: 1}))
	case n < 950:
		if err := v.commit(1); err != nil {
			return err
		}
		v.deliver()
	case n < 990:
		if d, ok := v.d.Get(crashRef(k)); ok {
			if got, ok := crashVersion(k, d); !ok || got != v.h.versions[k] {
				return fmt.Errorf("key %d: version %d (%t) of %d", k, got, ok, v.h.versions[k])
			}
		}
	case n < 998:
		if err := v.d.Sync(); err != nil {
			return err
		}
		fmt.Printf("synced %d\n", v.h.pos)
	default: // the feed misses changes
		if err := v.commit(3); err != nil {
			return err
		}
		v.h.to(v.h.pos + 3)
		v.s.Begin(tier.Mark{Origin: "o", Pos: v.h.pos})
	}
	return nil
}

// A survivor is what the parent knows of a disk.
type survivor struct {
	t         *testing.T
	dir       string
	committed uint64 // the child has said so
	synced    uint64
	held      int
}

// round runs a child for a while, kills it, and looks at what it has left.
func (s *survivor) round(live time.Duration) {
	s.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashChild+"="+s.dir)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ready := false
	for lines.Scan() {
		word, number, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseUint(number, 10, 64)
		switch word {
		case "ready":
			ready = true
			time.AfterFunc(live, func() { _ = cmd.Process.Kill() })
		case "committed":
			s.committed = max(s.committed, n)
		case "synced":
			s.synced = max(s.synced, n)
		case "held":
			s.held += int(n)
		}
	}
	_ = cmd.Wait() // it was killed
	if failure.Len() > 0 || !ready {
		s.t.Fatalf("the child says: %s", failure.String())
	}
	s.inspect()
}

// inspect looks at the file as the kill has left it: no broken document, none
// from before the committed position, and that has not gone back.
func (s *survivor) inspect() {
	s.t.Helper()
	d, src, err := openCrashed(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			s.t.Error(err)
		}
	}()
	m, ok := src.Committed()
	if !ok {
		if s.committed > 0 {
			s.t.Fatalf("position %d was committed and is gone", s.committed)
		}
		return
	}
	if m.Pos < s.committed {
		s.t.Fatalf("position %d was committed, the disk says %d", s.committed, m.Pos)
	}
	src.Resume(m)
	src.CaughtUp() // too early: to see what is there
	h := &history{seed: 1}
	h.to(max(m.Pos, s.synced))
	for k := range crashKeys {
		doc, ok := d.Get(crashRef(k))
		if !ok {
			continue
		}
		if v, ok := crashVersion(k, doc); !ok || v < h.versions[k] {
			s.t.Errorf("key %d: version %d (%t), dropped by change %d, committed %d, synced %d",
				k, v, ok, h.versions[k], m.Pos, s.synced)
		}
	}
	if st := d.DiskStats(); st.CRCFailures+st.Quarantines > 0 {
		s.t.Errorf("the file is broken: %+v", st)
	}
}

// TestDisk_SurvivesKill kills a process that writes, at random moments, and
// compares what is on disk with a model. -crash.rounds=1000 is the long form.
func TestDisk_SurvivesKill(t *testing.T) {
	var s *survivor
	held := 0
	for i := range *crashRounds {
		if i%10 == 0 {
			s = &survivor{t: t, dir: t.TempDir()}
		}
		s.round(time.Duration(rand.IntN(40_000)) * time.Microsecond)
		if t.Failed() {
			t.Fatalf("round %d", i)
		}
		held += s.held
		s.held = 0
	}
	if held == 0 {
		t.Error("no document has survived any kill: nothing was tested")
	}
	t.Logf("%d documents were there after a kill", held)
}
