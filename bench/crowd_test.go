package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestCrowd_IsThereUntilItIsTold(t *testing.T) {
	for _, kind := range crowds {
		t.Run(kind, func(t *testing.T) {
			var came atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(
				func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					came.Add(1)
				}
			}
			s.Start()
			defer s.Close()
			order, err := json.Marshal(crowd{Kind: kind, Connections: 20,
				Address: strings.TrimPrefix(s.URL, "http://")})
			if err != nil {
				t.Fatal(err)
			}
			in, tell := io.Pipe()
			heard, out := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- serveCrowd(t.Context(), in, out) }()
			if _, err := tell.Write(order); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(heard)
			if line, err := lines.ReadString('\n'); err != nil || line != "all there\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if n := came.Load(); n < 20 {
				t.Errorf("%d connections, want 20", n)
			}
			_ = tell.Close()
			if line, err := lines.ReadString('\n'); err != nil || line != "0\n" {
				t.Errorf("%q, %v", line, err)
			}
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(10 * time.Second):
				t.Error("it stays")
			}
		})
	}
}
