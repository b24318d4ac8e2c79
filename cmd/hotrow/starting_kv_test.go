//go:build unix

package main

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestServe_DatabaseAwayAtStartIsNoMiss: while the database cannot be reached from the start
// on, nobody knows what is absent. Clients of Redis and memcached get an error, and no nil
// and no miss, whether the database is named by its URL or by a file.
func TestServe_DatabaseAwayAtStartIsNoMiss(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port on which nobody answers
	if err != nil {
		t.Fatal(err)
	}
	url := "postgres://nobody@" + l.Addr().String() + "/none?sslmode=disable"
	_ = l.Close()
	file := configFile(t, fmt.Sprintf("version: 1\nsources: {main: {url: %q}}\n"+
		"resources: {depts: {table: dept}}\n", url))
	for name, args := range map[string][]string{"URL": {url}, "file": {"-c", file}} {
		t.Run(name, func(t *testing.T) {
			r := start(t, nil, args...)
			redis := r.dialRESP()
			for _, text := range []string{"GET depts:10", "EXISTS depts:10", "HGETALL depts:10",
				"MGET depts:10 depts:20", "SCAN 0 MATCH depts:*", "DEL depts:10"} {
				if got := redis.do(text); !strings.HasPrefix(got, "-") {
					t.Errorf("Redis: %s = %q", text, got)
				}
			}
			for text, want := range map[string]string{"get depts:10": hungUp,
				"gets depts:10 depts:20": hungUp, "mg depts:10 v": "SERVER_ERROR",
				"set depts:10 0 0 2\r\n{}": "SERVER_ERROR", "delete depts:10": "SERVER_ERROR"} {
				if got := r.dialMemcache().do(text); !strings.HasPrefix(got, want) {
					t.Errorf("memcached: %s = %q, want %s", text, got, want)
				}
			}
		})
	}
}
