package http1

import "bytes"

// A ResponseHead is the head of a response, for a relay. Its slices point into
// the bytes that were parsed. A Content-Length that says the same again has no place in its
// Fields: of a request that is an error, for there two servers may disagree about it.
type ResponseHead struct {
	Message
	Status int
	Reason []byte // what the status line says behind the code, may be empty
}

// Parse reads the head at the beginning of b into h, whatever h held before,
// and returns its length. It returns 0 without an error while the end of the
// head has not come. An error is a *HeadError; its status means nothing.
func (h *ResponseHead) Parse(b []byte) (int, error) {
	fields := h.Fields
	*h = ResponseHead{}
	h.Fields = fields
	h.reset(b)
	h.lenient = true
	end := bytes.IndexByte(b, '\n')
	switch {
	case end < 0 && (len(b) > MaxRelayLine || !canBeStatus(b)):
		return 0, errStatus
	case end < 0:
		return 0, nil
	case end > MaxRelayLine, end == 0, b[end-1] != '\r', !h.statusLine(b[:end-1]):
		return 0, errStatus
	}
	n, err := h.scan(b, end+1)
	if n == 0 {
		return 0, err
	}
	return n, h.framing()
}

// canBeStatus refuses what cannot become a status line.
func canBeStatus(b []byte) bool {
	const version = "HTTP/1."
	n := min(len(b), len(version))
	return string(b[:n]) == version[:n]
}

// statusLine reads "HTTP/1.1 200 OK" without its end.
func (h *ResponseHead) statusLine(line []byte) bool {
	const shortest = "HTTP/1.1 200"
	if len(line) < len(shortest) || !canBeStatus(line) || line[8] != ' ' {
		return false
	}
	if !isDigit(line[7]) {
		return false
	}
	h.HTTP10 = line[7] == '0' // a later version of HTTP/1 is framed as HTTP/1.1 is
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return false
		}
		h.Status = h.Status*10 + int(c-'0')
	}
	if len(line) > len(shortest) {
		if line[12] != ' ' {
			return false
		}
		h.Reason = line[13:]
	}
	return h.Status >= 100 && h.Status <= 599 && !hasControl(h.Reason)
}

// Bodiless reports whether the response has no body whatever its fields say.
// toHead says that it answers HEAD.
func (h *ResponseHead) Bodiless(toHead bool) bool {
	return toHead || h.Status < 200 || h.Status == 204 || h.Status == 304
}

// Persists reports whether the connection may be used again after the message.
func (m *Message) Persists() bool {
	if m.HTTP10 {
		return m.KeepAlive && !m.Close
	}
	return !m.Close
}
