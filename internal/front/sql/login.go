package sqlfront

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"

	"github.com/hotrow/hotrow/internal/front"
)

// What a message of authentication asks for, or says.
const (
	authOK           = 0
	authCleartext    = 3
	authMD5          = 5
	authSASL         = 10
	authSASLContinue = 11
	authSASLFinal    = 12
)

// bindingMethod is the method of SASL that binds a log-in to the certificate of the server.
const bindingMethod = "SCRAM-SHA-256-PLUS"

// readers read the answers of servers while clients log in.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

// A login passes the messages on by which a client logs in. hotrow learns no password: what a
// client answers goes to the server as it is.
type login struct {
	client, server *leg
	r              *bufio.Reader // of server
	out            []byte        // for the client
	body           []byte        // of the message that was read

	local   bool   // only this machine can be the client
	trusted bool   // a client may be let in unasked, whoever it is
	shown   []byte // the certificate that the client was shown; nil: none
	has     []byte // the certificate of the server; nil: none

	challenged bool   // the server has asked who the client is
	said       bool   // the server has said why it lets the client not in
	key        []byte // of the server's session: its process and its secret
	ours       []byte // that the client has in place of it
}

// run passes messages on until the session is ready. What the server has sent behind that is
// left in l.r.
func (l *login) run() error {
	for {
		if l.r.Buffered() == 0 {
			if err := l.flush(); err != nil {
				return err
			}
		}
		head, err := l.r.Peek(headSize)
		if err != nil {
			return l.ended(err)
		}
		kind, size := head[0], binary.BigEndian.Uint32(head[1:])
		if size < headSize-1 {
			return &fault{state: stateProtocol, text: "the database does not speak its protocol"}
		}
		whole := kind == msgAuthentication || kind == msgKey
		switch {
		case whole && size > front.SQLAuthBytes:
			return &fault{state: stateProtocol, text: "the database's log-in is too long"}
		case whole:
			err = l.take(kind, int(size)+1)
		default:
			l.said = l.said || kind == msgError
			err = l.pass(int64(size) + 1)
		}
		if err != nil {
			return err
		}
		if kind == msgReady {
			return l.flush()
		}
	}
}

// ended sends what the server has said last.
func (l *login) ended(err error) error {
	if flushed := l.flush(); flushed != nil {
		return flushed
	}
	return err
}

func (l *login) flush() error {
	if len(l.out) == 0 {
		return nil
	}
	err := l.client.send(l.out)
	l.out = l.out[:0]
	return err
}

// pass passes a message on, however long it is.
func (l *login) pass(size int64) error {
	if size <= int64(l.r.Size()) {
		p, err := l.r.Peek(int(size))
		if err != nil {
			return l.ended(err)
		}
		l.out = append(l.out, p...)
		_, _ = l.r.Discard(len(p))
		return nil
	}
	if err := l.flush(); err != nil {
		return err
	}
	_, err := io.CopyN(l.client, l.r, size)
	return err
}

// take passes a message on that the log-in depends on.
func (l *login) take(kind byte, size int) error {
	l.body = append(l.body[:0], make([]byte, size)...)
	if _, err := io.ReadFull(l.r, l.body); err != nil {
		return err
	}
	body := l.body[headSize:]
	if kind == msgKey {
		l.takeKey(body)
		return nil
	}
	if len(body) < 4 {
		return &fault{state: stateProtocol, text: "the database does not speak its protocol"}
	}
	return l.authenticate(binary.BigEndian.Uint32(body))
}

// takeKey gives the client a secret of our own. The process stays the server's: clients compare
// it with that of a NOTIFY.
func (l *login) takeKey(body []byte) {
	l.key = bytes.Clone(body)
	l.ours = ownKey(body)
	l.out = append(append(l.out, l.body[:headSize]...), l.ours...)
}

// authenticate passes a message of authentication on, and the client's answer to it.
func (l *login) authenticate(what uint32) error {
	switch what {
	case authOK:
		if !l.challenged && !l.local && !l.trusted {
			return l.unasked()
		}
	case authSASLFinal:
	case authCleartext, authMD5, authSASLContinue:
		l.challenged = true
	case authSASL:
		l.challenged = true
		if l.shown == nil && l.has != nil {
			l.withoutBinding()
		}
	default:
		return &fault{state: stateRefused, result: loginRefused,
			text: "the database asks for GSSAPI or SSPI, which cannot be passed on",
			hint: "ask for scram-sha-256 in pg_hba.conf"}
	}
	l.out = append(l.out, l.body...)
	if what == authOK || what == authSASLFinal {
		return nil
	}
	if err := l.flush(); err != nil {
		return err
	}
	return l.answer(what)
}

// answer passes on what the client says to a challenge.
func (l *login) answer(to uint32) error {
	var head [headSize]byte
	if _, err := io.ReadFull(l.client, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size < headSize-1 || size > front.SQLAuthBytes {
		return &fault{state: stateProtocol, text: "the answer to a challenge has a wrong length"}
	}
	b := append(head[:], make([]byte, size-(headSize-1))...)
	defer clear(b) // it may be a password
	if _, err := io.ReadFull(l.client, b[headSize:]); err != nil {
		return err
	}
	if to == authSASL && b[0] == msgPassword && l.bindsElsewhere(b[headSize:]) {
		return &fault{state: stateRefused, result: loginRefused,
			text: "the log-in is bound to hotrow's certificate, which is not the database's",
			hint: "set channel_binding=disable, or give hotrow the database's certificate and key"}
	}
	return l.server.send(b)
}

// bindsElsewhere reports whether the client binds the log-in to a certificate that is not the
// server's. The server would only say that a check has failed.
func (l *login) bindsElsewhere(answer []byte) bool {
	method, _, _ := bytes.Cut(answer, []byte{0})
	return string(method) == bindingMethod && !bytes.Equal(l.shown, l.has)
}

// withoutBinding takes the method that binds out of those that the server offers. A client
// without TLS that sees it takes somebody for an impostor.
func (l *login) withoutBinding() {
	kept := l.body[:headSize+4]
	for method := range bytes.SplitSeq(l.body[headSize+4:], []byte{0}) {
		if len(method) > 0 && string(method) != bindingMethod {
			kept = append(append(kept, method...), 0)
		}
	}
	l.body = append(kept, 0)
	binary.BigEndian.PutUint32(l.body[1:], uint32(len(l.body)-1))
}

// unasked is why a client of another machine is not let in: the server has let hotrow in.
func (l *login) unasked() error {
	at := "this machine"
	if tcp, ok := l.server.LocalAddr().(*net.TCPAddr); ok {
		at = tcp.IP.String()
	}
	return &fault{state: stateRefused, text: "the database trusts hotrow's address",
		hint: "ask for scram-sha-256 in pg_hba.conf for " + at, result: loginTrusted}
}
