package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

const about = `# What memory holds, and what it takes for it

Written by ` + "`make memory-figures`" + `. The same rows in hotrow, which has loaded them
from SQLite, and in peers that were given them: keys of 8 bytes and bodies of one size, or of 50 B
to 10 KB, as many in each doubling. A ratio is the resident memory of the process, less what it took
before it had any row, for each byte of keys and bodies: once the rows are there, and at most while
16 connections write a row and read four, in turn, for %v. The pages that hotrow's connections to
SQLite keep, 80 KiB each, are in it.

%s, %s, %d processors (%s). %s
`

// page returns the page of all that was measured.
func (m *measurement) page() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, about, m.seconds, time.Now().UTC().Format(time.DateOnly), runtime.Version(),
		runtime.NumCPU(), processor(), versions())
	b.WriteString("\n" +
		"| rows | body | MiB | server | idle, MiB | loaded, MiB | ratio | at most |\n" +
		"|---|---|---|---|---|---|---|---|\n")
	for _, f := range m.figures {
		fmt.Fprintf(&b, "| %d | %s | %.1f | %s | %.1f | %.1f | %.2f | %.2f |\n", f.of.rows, f.of,
			mib(f.bytes), f.server, mib(f.idle), mib(f.loaded), f.ratio(f.loaded), f.ratio(f.most))
	}
	b.WriteString("\n## The collector\n" +
		"As many requests as hotrow answers over 64 connections, one in a hundred a write.\n" +
		"The share is of all processors, pauses are by the clock.\n\n" +
		"| rows | body | answers/s | collections | share | pause, 99 of 100 | longest |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, f := range m.figures {
		if c := f.gc; c != nil {
			fmt.Fprintf(&b, "| %d | %s | %.0f | %d | %.2f%% | %v | %v |\n", f.of.rows, f.of, c.rate,
				c.cycles, 100*c.share, c.pause, c.longest)
		}
	}
	return b.Bytes()
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func (f *figures) ratio(resident int64) float64 {
	return float64(resident-f.idle) / float64(f.bytes)
}

// processor returns the name of the processor.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // none: not named
	_, name, _ := strings.Cut(string(text), "model name\t: ")
	name, _, _ = strings.Cut(name, "\n")
	return name
}

// versions returns what the peers say of themselves.
func versions() string {
	var all []string
	for _, program := range []string{"memcached", "redis-server", "valkey-server"} {
		if out, err := exec.Command(program, "--version").Output(); err == nil {
			all = append(all, strings.TrimSpace(string(out)))
		}
	}
	return strings.Join(all, "; ")
}
