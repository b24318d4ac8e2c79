package tiers

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A use is what this process has of the machine.
type use struct {
	anon, file  int64 // bytes that are resident
	majorFaults int64 // pages that had to be read from a disk
}

// ownUse returns what this process has now.
func ownUse() (u use) {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) == nil {
		u.majorFaults = r.Majflt
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return u
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch {
		case err != nil:
		case name == "RssAnon":
			u.anon = kib << 10
		case name == "RssFile":
			u.file = kib << 10
		}
	}
	return u
}
