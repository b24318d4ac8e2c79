package linksfront

import "bytes"

// Fields are the header fields of a request that say who follows a link. Their
// values point into the request.
type fields struct {
	agent     []byte
	referrer  []byte
	forwarded []byte // the last X-Forwarded-For
	prefetch  bool   // the browser asks ahead: nobody has clicked yet
	private   bool   // Sec-GPC or DNT: the visitor wants to leave no trace
}

// scan reads them from a head that http1 has read: its lines end with CRLF and
// have a name each. http1 does not keep them, for no other answer hangs on them.
func (f *fields) scan(head []byte) {
	*f = fields{}
	for {
		end := bytes.IndexByte(head, '\n')
		if end < 0 || end+1 >= len(head) {
			return
		}
		head = head[end+1:]
		switch head[0] | 0x20 {
		case 'u', 'r', 'x', 's', 'd', 'p':
			f.line(head)
		}
	}
}

// line looks at the line at the beginning of head.
func (f *fields) line(head []byte) {
	colon := bytes.IndexByte(head, ':')
	if colon < 0 || colon > len("x-forwarded-for") {
		return
	}
	name := head[:colon]
	switch colon {
	case 3:
		if isName(name, "dnt") {
			f.private = f.private || isOne(valueOf(head[colon+1:]))
		}
	case 7:
		if isName(name, "referer") {
			f.referrer = valueOf(head[colon+1:])
		} else if isName(name, "sec-gpc") {
			f.private = f.private || isOne(valueOf(head[colon+1:]))
		} else if isName(name, "purpose") {
			f.purpose(valueOf(head[colon+1:]))
		}
	case 9:
		if isName(name, "x-purpose") {
			f.purpose(valueOf(head[colon+1:]))
		}
	case 10:
		if isName(name, "user-agent") {
			f.agent = valueOf(head[colon+1:])
		}
	case 11:
		if isName(name, "sec-purpose") {
			f.purpose(valueOf(head[colon+1:]))
		}
	case 15:
		if isName(name, "x-forwarded-for") {
			f.forwarded = valueOf(head[colon+1:])
		}
	}
}

// purpose reads why a browser asks: "prefetch", "prefetch;prerender", "preview".
func (f *fields) purpose(value []byte) {
	f.prefetch = f.prefetch || startsWith(value, "prefetch") || startsWith(value, "preview")
}

// valueOf returns the value of a line from behind its colon.
func valueOf(b []byte) []byte {
	if end := bytes.IndexByte(b, '\r'); end >= 0 {
		b = b[:end]
	}
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

func isOne(value []byte) bool { return len(value) == 1 && value[0] == '1' }

// startsWith reports whether b begins with lower, in any case.
func startsWith(b []byte, lower string) bool {
	return len(b) >= len(lower) && isName(b[:len(lower)], lower)
}

// isName reports whether b is lower, which is in lower case, in any case.
func isName(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range len(lower) {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
