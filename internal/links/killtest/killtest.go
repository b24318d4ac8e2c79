// Package killtest runs a process that records clicks, kills it, and says how
// many clicks it had begun and how many had been answered. It is what the tests
// of the click log and of draining it have in common; what a click is, and where
// it should have arrived, is theirs.
package killtest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A Count is what one writer has told.
type Count struct{ Begun, Answered uint64 }

// A Tally is the counts of some writers in a file: ordinary writes, which no kill
// undoes. Each writer has its own places in it.
type Tally struct {
	file   *os.File
	counts []Count
}

// Open opens the tally of a directory, or makes it.
func Open(dir string, writers int) (*Tally, error) {
	f, err := os.OpenFile(filepath.Join(dir, "tally"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &Tally{file: f, counts: Read(dir, writers)}, nil
}

// Read returns the counts of a directory; what is not there is zero.
func Read(dir string, writers int) []Count {
	b, _ := os.ReadFile(filepath.Join(dir, "tally"))
	counts := make([]Count, writers)
	for i := range counts {
		if len(b) >= (i+1)*16 {
			counts[i].Begun = binary.LittleEndian.Uint64(b[i*16:])
			counts[i].Answered = binary.LittleEndian.Uint64(b[i*16+8:])
		}
	}
	return counts
}

// Begin says that writer i begins a click, and returns its number.
func (t *Tally) Begin(i int) (uint64, error) {
	t.counts[i].Begun++
	return t.counts[i].Begun, t.put(int64(i*16), t.counts[i].Begun)
}

// Answer says that the click of writer i was answered.
func (t *Tally) Answer(i int) error {
	t.counts[i].Answered++
	return t.put(int64(i*16+8), t.counts[i].Answered)
}

// put writes one number.
func (t *Tally) put(at int64, n uint64) error {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], n)
	_, err := t.file.WriteAt(word[:], at)
	return err
}

// Main runs fn with the value of Kill's variable when this process is a child of
// Kill, and reports whether it is one. A child prints "ready" when it has begun.
func Main(value string, fn func(value string) error) (child bool) {
	if value == "" {
		return false
	}
	if err := fn(value); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// Kill starts this program with a variable set, lets it live for a while once it
// is ready, and kills it.
func Kill(t testing.TB, name, value string, live time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), name+"="+value)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ready := lines.Scan()
	time.AfterFunc(live, func() { _ = cmd.Process.Kill() })
	for lines.Scan() {
	}
	_ = cmd.Wait() // it was killed
	if failure.Len() > 0 || !ready {
		t.Fatalf("the child says: %s", failure.String())
	}
}
