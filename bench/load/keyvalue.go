package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// keyRequests are what the key-value protocols have in common: reads of keys and writes
// of one.
type keyRequests struct {
	key, body template
	batch     int
	hello     []byte // see greeting
}

func (r keyRequests) greeting() []byte { return r.hello }

// redisRequests are those of Redis (RESP2).
type redisRequests struct{ keyRequests }

// newRedisRequests prepares the commands that c asks for.
func newRedisRequests(c *Config, to target) redisRequests {
	r := keyRequests{key: newTemplate(to.path), body: newTemplate(c.Write.Body), batch: c.Batch}
	if to.user == nil {
		return redisRequests{r}
	}
	words := []string{"AUTH"}
	if name := to.user.Username(); name != "" {
		words = append(words, name)
	}
	password, _ := to.user.Password()
	words = append(words, password)
	r.hello = fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		r.hello = appendBulk(r.hello, []byte(word))
	}
	return redisRequests{r}
}

func (r redisRequests) appendRead(dst []byte, w *worker, key, seq int64) []byte {
	if r.batch == 1 {
		dst = append(dst, "*2\r\n$3\r\nGET\r\n"...)
	} else {
		dst = append(dst, '*')
		dst = strconv.AppendInt(dst, int64(r.batch)+1, 10)
		dst = append(dst, "\r\n$4\r\nMGET\r\n"...)
	}
	for i := range r.batch {
		if i > 0 {
			key = w.keys.next()
		}
		w.body = r.key.append(w.body[:0], key, seq)
		dst = appendBulk(dst, w.body)
	}
	return dst
}

func (r redisRequests) appendWrite(dst []byte, w *worker, key, seq int64) []byte {
	w.body = r.key.append(w.body[:0], key, seq)
	dst = appendBulk(append(dst, "*3\r\n$3\r\nSET\r\n"...), w.body)
	w.body = r.body.append(w.body[:0], key, seq)
	return appendBulk(dst, w.body)
}

// appendBulk appends a bulk string.
func appendBulk(dst, text []byte) []byte {
	dst = append(dst, '$')
	dst = strconv.AppendInt(dst, int64(len(text)), 10)
	dst = append(dst, "\r\n"...)
	dst = append(dst, text...)
	return append(dst, "\r\n"...)
}

// memcachedRequests are those of memcached's text protocol.
type memcachedRequests struct{ keyRequests }

// newMemcachedRequests prepares the commands that c asks for.
func newMemcachedRequests(c *Config, to target) memcachedRequests {
	return memcachedRequests{keyRequests{
		key: newTemplate(to.path), body: newTemplate(c.Write.Body), batch: c.Batch,
	}}
}

func (r memcachedRequests) appendRead(dst []byte, w *worker, key, seq int64) []byte {
	dst = append(dst, "get"...)
	for i := range r.batch {
		if i > 0 {
			key = w.keys.next()
		}
		dst = r.key.append(append(dst, ' '), key, seq)
	}
	return append(dst, "\r\n"...)
}

func (r memcachedRequests) appendWrite(dst []byte, w *worker, key, seq int64) []byte {
	w.body = r.body.append(w.body[:0], key, seq)
	dst = r.key.append(append(dst, "set "...), key, seq)
	dst = append(dst, " 0 0 "...)
	dst = strconv.AppendInt(dst, int64(len(w.body)), 10)
	dst = append(dst, "\r\n"...)
	dst = append(dst, w.body...)
	return append(dst, "\r\n"...)
}

// redisLine consumes a line of a reply: the whole reply, or the head of a value or of
// an array.
func (r *reader) redisLine(in []byte) (n int, done bool, err error) {
	line, ok, err := lineOf(in)
	if !ok {
		return 0, false, err
	}
	n = len(line) + 2
	if len(line) == 0 {
		return 0, false, errors.New("no reply of Redis: an empty line")
	}
	switch line[0] {
	case '-':
		r.refuse(line)
		if !r.greeted {
			return 0, false, fmt.Errorf("the server refuses to authenticate: %.200q", line)
		}
		return n, r.endPart(), nil
	case '+', ':':
		return n, r.endPart(), nil
	case '$', '*':
	default:
		return 0, false, fmt.Errorf("no reply of Redis: %.40q", line)
	}
	if string(line[1:]) == "-1" {
		r.status = max(r.status, 404)
		return n, r.endPart(), nil
	}
	size, ok := parseLength(line[1:])
	if !ok {
		return 0, false, fmt.Errorf("no length in a reply of Redis: %.40q", line)
	}
	if line[0] == '$' {
		r.stage, r.left = inValue, size+2
		return n, false, nil
	}
	r.due += size
	return n, r.endPart(), nil
}

// memcachedLine consumes a line of an answer: its end, or the head of a value.
func (r *reader) memcachedLine(in []byte) (n int, done bool, err error) {
	line, ok, err := lineOf(in)
	if !ok {
		return 0, false, err
	}
	n = len(line) + 2
	if rest, ok := bytes.CutPrefix(line, []byte("VALUE ")); ok {
		words := bytes.Fields(rest)
		if len(words) < 3 {
			return 0, false, fmt.Errorf("no value of memcached: %.40q", line)
		}
		size, ok := parseLength(words[2])
		if !ok {
			return 0, false, fmt.Errorf("no length in a value of memcached: %.40q", line)
		}
		r.stage, r.left = inValue, size+2
		return n, false, nil
	}
	switch {
	case string(line) == "END":
		if r.values < r.batch {
			r.status = 404
		}
	case string(line) == "STORED":
	default:
		r.refuse(line)
	}
	return n, true, nil
}

// refuse keeps a line that refuses what was asked.
func (r *reader) refuse(line []byte) {
	r.status = 500
	r.refusal = append(r.refusal[:0], line[:min(len(line), 200)]...)
}

// endValue ends a value, and reports whether the answer ends with it.
func (r *reader) endValue() (done bool) {
	r.stage = r.protocol.begins()
	if r.body != nil && r.values == 0 {
		r.body = r.body[:len(r.body)-2] // without its line end
	}
	r.values++
	return r.protocol == redis && r.endPart()
}

// endPart ends a part of a reply of Redis, and reports whether the reply ends with it.
func (r *reader) endPart() (done bool) {
	r.stage = inReply
	if r.due--; r.due > 0 {
		return false
	}
	if r.greeted {
		return true
	}
	r.greeted, r.due = true, 1 // Slow path: the answer to AUTH.
	return false
}
