// Command rawecho is the least that a server of length-prefixed frames written
// in Go does: a goroutine for each connection reads what has come, answers all of
// it, and writes the answers at once. What hotrow, gofast and gRPC do, they do on
// top of this.
//
// A frame is the length of what follows (4 bytes), its kind (1), the number of
// the exchange (4) and the data. Requests ('r') and the ends of streams ('e') are
// answered with themselves; posts ('p') and messages of streams ('m') are not.
package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"sync/atomic"
)

const (
	headSize = 9
	largest  = 16 << 20
)

// taken counts the messages that want no answer, so that they are looked at.
var taken atomic.Uint64

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "`address`")
	flag.Parse()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			if err := serve(conn); err != nil {
				log.Print(err)
			}
		}()
	}
}

// serve answers a connection until it ends.
func serve(conn net.Conn) error {
	defer conn.Close()
	in, out := make([]byte, 64<<10), []byte(nil)
	have := 0
	for {
		n, err := conn.Read(in[have:])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		have += n
		used, need := 0, 0
		if used, need, out, err = answer(in[:have], out[:0]); err != nil {
			return err
		}
		if len(out) > 0 {
			if _, err := conn.Write(out); err != nil {
				return err
			}
		}
		have = copy(in, in[used:have])
		if need > len(in) {
			in = append(make([]byte, 0, need), in[:have]...)[:need]
		}
	}
}

// answer appends the answers to the whole frames of in. need is how long the
// first one is that is not whole.
func answer(in, out []byte) (used, need int, grown []byte, err error) {
	for len(in)-used >= headSize {
		frame := in[used:]
		size := 4 + int(binary.BigEndian.Uint32(frame))
		if size < headSize || size > largest {
			return used, 0, out, errors.New("a frame of an impossible length")
		}
		if len(frame) < size {
			return used, size, out, nil
		}
		switch frame[4] {
		case 'r', 'e':
			out = append(out, frame[:size]...)
		case 'p', 'm':
			taken.Add(1)
		default:
			return used, 0, out, errors.New("a frame of an unknown kind")
		}
		used += size
	}
	return used, 0, out, nil
}
