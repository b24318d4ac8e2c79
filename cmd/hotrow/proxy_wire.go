package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hotrow/hotrow/internal/proxy"
)

// maxToken is how long a token may be to go along when a connection begins.
const maxToken = 256

// checkWire checks the flags of the two ends of the wire.
func (c *proxyCmd) checkWire() error {
	overWire := len(c.Upstream) > 0 && strings.HasPrefix(c.Upstream[0], "wire")
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case c.TLSCert != "" && !c.Exit:
		return errors.New("--tls-cert: only --exit speaks TLS with its clients")
	case c.TokenFile != "" && !c.Exit && !overWire:
		return errors.New("--token-file: want --exit, or --upstream wire://host:port")
	case c.Exit && overWire:
		return errors.New("--exit: the far end of a wire cannot be another wire's beginning")
	case c.WireConns < 1 || c.WireConns > 64:
		return fmt.Errorf("--wire-conns %d: want 1 to 64, at best 2 to 4", c.WireConns)
	}
	return nil
}

// exit returns what the far end of the wire goes by.
func (c *proxyCmd) exit() (e proxy.Exit, err error) {
	if c.TokenFile != "" {
		if e.Tokens, err = readTokens(c.TokenFile); err != nil {
			return e, err
		}
	}
	if c.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return e, fmt.Errorf("--tls-cert: %w", err)
		}
		e.TLS = &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert},
		}
	}
	return e, nil
}

// readTokens reads the tokens in a file: one a line, with comments behind "#".
func readTokens(path string) (tokens [][]byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	for line := range bytes.Lines(text) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		if line = bytes.TrimSpace(line); len(line) > maxToken {
			return nil, fmt.Errorf("--token-file %s: a token is longer than %d bytes", path,
				maxToken)
		}
		if len(line) > 0 {
			tokens = append(tokens, line)
		}
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("--token-file %s: it holds no token", path)
	}
	return tokens, nil
}
