package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listenerAt finds the process that listens at a TCP port, among those that may be looked
// at; 0: none.
func listenerAt(port uint16) (pid int, name string) {
	sockets := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(file) // what cannot be read has nothing
		for line := range strings.Lines(string(text)) {
			// sl local_address rem_address st ... inode: 0A is LISTEN
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == "0A" && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	if len(sockets) == 0 {
		return 0, ""
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is well formed
	for _, fd := range files {
		if to, err := os.Readlink(fd); err != nil || !sockets[to] {
			continue
		}
		dir := filepath.Dir(filepath.Dir(fd))
		comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			return pid, strings.TrimSpace(string(comm))
		}
	}
	return 0, ""
}
