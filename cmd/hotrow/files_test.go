package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A limit of open files that leaves no room for clients is told at the start, and
// one that does is not.
func TestServe_SaysThatFewFilesMayBeOpen(t *testing.T) {
	for limit, tells := range map[string]bool{"64": true, "4096": false} {
		file := configFile(t, "version: 1\nhttp: {listen: 'unix:"+filepath.Join(t.TempDir(), "s")+
			"'}\nops: {listen: 'off'}\nwire: {listen: 'off'}\nsources: {main: {url: 'sqlite:"+
			database(t, deptSQL)+"'}}\nresources: {dept: {table: dept}}\n")
		said := new(output)
		cmd := exec.Command("sh", "-c", `ulimit -n "$1" && shift && exec "$@"`, "sh", limit,
			os.Args[0], "serve", "-c", file) // which TestMain takes for a server
		cmd.Stdout, cmd.Stderr = said, said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, said, func() bool { return strings.Contains(said.String(), "feed chosen") })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		const warning = `msg="few files may be open: connections of clients will have to wait" limit=64 ` +
			`needed=60 clients=4`
		if strings.Contains(said.String(), "few files may be open") != tells ||
			tells && !strings.Contains(said.String(), warning) {
			t.Errorf("with %s files the log says\n%s", limit, said)
		}
	}
}
