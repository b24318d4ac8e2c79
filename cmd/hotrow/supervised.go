package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/supervisor"
)

// listenerNames are the listeners of serve, as FileDescriptorName= of a systemd socket
// unit calls them.
var listenerNames = []string{"http", "wire", "resp", "memcache", "sql", "links", "ops"}

// takeSockets takes the listeners that systemd has opened for serve, by their names. One
// that has no name of ours is the listener of HTTP. Where they listen overrides the
// configuration, now and at each reload, so that all checks of it hold for them.
func (p *program) takeSockets() error {
	sockets, err := supervisor.Sockets(p.env, os.Getpid())
	if err != nil || len(sockets) == 0 {
		return err
	}
	p.sockets = make(map[string]net.Listener, len(sockets))
	p.env = slices.Clone(p.env)
	for _, s := range sockets {
		name := s.Name
		if len(sockets) == 1 && !slices.Contains(listenerNames, name) {
			name = "http"
		}
		switch {
		case !slices.Contains(listenerNames, name):
			return fmt.Errorf("socket %s of systemd is called %q: FileDescriptorName= must be "+
				"one of %s", s.Addr(), name, strings.Join(listenerNames, ", "))
		case p.sockets[name] != nil:
			return fmt.Errorf("two sockets of systemd are called %q: %s and %s: a listener has one",
				name, p.sockets[name].Addr(), s.Addr())
		}
		p.sockets[name] = s.Listener
		at := s.Addr().String()
		if s.Addr().Network() == "unix" {
			at = "unix:" + at
		}
		variable := "HOTROW_" + strings.ToUpper(name) + "_LISTEN="
		p.env = slices.DeleteFunc(p.env, func(e string) bool {
			return strings.HasPrefix(e, variable)
		})
		p.env = append(p.env, variable+at)
	}
	return nil
}

// watch lets systemd's watchdog know that the server answers, until ctx ends.
func (s *server) watch(ctx context.Context) {
	ln := s.listeners["http"]
	if ln == nil {
		supervisor.Watch(ctx, s.log, func(context.Context) error { return nil })
		return
	}
	addr := ln.Addr()
	var dialer net.Dialer
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, addr.Network(), addr.String())
		},
		// It asks its own listener, whatever the name of the certificate is.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true, // connections are dealt to the loops in turn
	}}
	url := "http://localhost/"
	if s.cfg().HTTP.TLS.On() {
		url = "https://localhost/"
	}
	supervisor.Watch(ctx, s.log, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.Body.Close()
	})
}

// statusLine says in a line what is served, for systemctl status.
func (s *server) statusLine() string {
	n := len(s.cfg().Resources)
	if s.starting() {
		return "waits for the database"
	}
	if n == 1 {
		return "serves 1 resource"
	}
	return fmt.Sprintf("serves %d resources", n)
}
