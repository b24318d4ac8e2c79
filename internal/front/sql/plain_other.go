//go:build !linux

package sqlfront

import (
	"net"

	"github.com/hotrow/hotrow/internal/front"
)

// A plain is nothing here: package net reads and writes.
type plain struct{}

func (*plain) begin(net.Conn, *front.ClientShare) {}

func (*plain) ready() bool { return false }

func (*plain) receive() ([]byte, *chunk, error) { panic("BUG: there is no plain socket") }

func (*plain) send([]byte) error { panic("BUG: there is no plain socket") }
