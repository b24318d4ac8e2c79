//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A hangup while the database has not answered yet, as of a program that rotates logs, does not
// end the server: it reloads as soon as it has started.
func TestServe_HangupWhileItStarts(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file := configFile(t, "version: 1\nhttp: {listen: 127.0.0.1:0}\nops: {listen: off}\nwire: {listen: off}\n"+
		"sources: {main: {url: 'postgres://u@"+silent.Addr().String()+"/x?sslmode=disable'}}\n"+
		"resources: {dept: {table: dept}}\n")
	said := new(output)
	cmd := exec.Command(os.Args[0], "serve", "-c", file) // which TestMain takes for a server
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	asked, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	_, _ = asked.Close(), silent.Close()
	until(t, said, func() bool { return strings.Contains(said.String(), "reloaded") })
}

// The first signal lets a request under way end, and the second does not.
func TestServe_SecondSignalEndsAtOnce(t *testing.T) {
	// A script's background processes ignore interrupts, and so would the server.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, os.Interrupt)
	defer signal.Stop(heard)
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
