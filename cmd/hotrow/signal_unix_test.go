//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The first signal lets a request under way end, and the second does not.
func TestServe_SecondSignalEndsAtOnce(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	file := configFile(t, "version: 1\nhttp: {listen: 'unix:"+socket+"', shutdown_timeout: 10m}\n"+
		"ops: {listen: 'off'}\nwire: {listen: 'off'}\nsources: {main: {url: 'sqlite:"+
		database(t, deptSQL)+"'}}\nresources: {dept: {table: dept, access: {write: public}}}\n")
	said := new(output)
	cmd := exec.Command(os.Args[0], "serve", "-c", file) // which TestMain takes for a server
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	until(t, said, func() bool { return strings.Contains(said.String(), "feed chosen") })
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "PUT /dept/10 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	if line, err := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, " 100 ") {
		t.Fatal(line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	until(t, said, func() bool {
		other, err := net.Dial("unix", socket)
		if err == nil {
			_ = other.Close()
		}
		return err != nil
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v\n%s", cmd.ProcessState, said)
	}
}
