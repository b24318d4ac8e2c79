//go:build unix

package tier

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDisk_BrokenRecordsAreSaidOnce: a disk that fails breaks many records, and the log has
// one line a minute with how many.
func TestDisk_BrokenRecordsAreSaidOnce(t *testing.T) {
	log := new(bytes.Buffer)
	d, err := OpenDisk(DiskOptions{Path: filepath.Join(t.TempDir(), "cache.db"), MaxBytes: 1 << 20,
		Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i := range 131 {
		d.unreadable(fmt.Appendf(nil, "slot%d", i), errRecord)
	}
	d.mu.Lock()
	d.crcSaid = d.crcSaid.Add(-time.Minute)
	d.mu.Unlock()
	d.unreadable([]byte("another"), errRecord)
	if n := strings.Count(log.String(), "is broken"); n != 2 ||
		!strings.Contains(log.String(), "dropped=132") {
		t.Errorf("%d lines of 132 broken records: %s", n, log)
	}
}

// TestGuarded_Reasons: what is wrong with a file is said in words about files.
func TestGuarded_Reasons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	page, err := syscall.Mmap(int(file.Fd()), 0, os.Getpagesize(), syscall.PROT_READ,
		syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(page)
	if err := file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	for want, do := range map[string]func() error{
		"shorter than it was":         func() error { return fmt.Errorf("%d", page[0]) },
		"not what was written there":  func() error { return fmt.Errorf("%d", page[:1][len(page)]) },
		"page 7 is of another bucket": func() error { panic("page 7 is of another bucket") },
	} {
		err := guarded(do)
		if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
