package memcached

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The bounds on what a server may answer, beside that on a value.
const (
	maxLine  = 2048
	maxStats = 1000
)

// An item is one value as the server keeps it.
type item struct {
	key   string
	flags uint32
	cas   uint64 // 0 when it was not asked for
	value []byte
}

// A replyError is a line by which the server refuses a command: ERROR,
// CLIENT_ERROR or SERVER_ERROR.
type replyError struct {
	kind string
	text string // what follows; "" for ERROR
}

// Error returns the line.
func (e *replyError) Error() string { return strings.TrimSuffix(e.kind+" "+e.text, " ") }

// A protocolError is an answer that no memcached server gives.
type protocolError struct{ problem string }

// Error says what the server has sent.
func (e *protocolError) Error() string { return e.problem }

// A sizeError is a value that is larger than what is read.
type sizeError struct {
	key  string
	size uint64
	max  int
}

// Error names the key and both sizes.
func (e *sizeError) Error() string {
	return fmt.Sprintf("the value of %q has %d bytes, more than %d", e.key, e.size, e.max)
}

// unexpected is the error of a line that cannot come where it has come.
func unexpected(line, want string) error {
	if len(line) > 80 {
		line = line[:80] + "..."
	}
	return &protocolError{fmt.Sprintf("the server answers %q where %s is wanted: it is no "+
		"memcached server, or it has lost count", line, want)}
}

// readLine returns one line without its CR LF, the errors of the server as
// errors. The line is good until the next read.
func readLine(r *bufio.Reader) (string, error) {
	b, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull), err == nil && len(b) > maxLine:
		return "", &protocolError{fmt.Sprintf("the server answers a line of more than %d bytes",
			maxLine)}
	case errors.Is(err, io.EOF) && len(b) > 0:
		return "", io.ErrUnexpectedEOF
	case err != nil:
		return "", err
	case len(b) < 2 || b[len(b)-2] != '\r':
		return "", unexpected(string(b), "a line that ends with CR LF")
	}
	line := string(b[:len(b)-2])
	kind, text, _ := strings.Cut(line, " ")
	switch kind {
	case "ERROR", "CLIENT_ERROR", "SERVER_ERROR":
		return "", &replyError{kind: kind, text: text}
	}
	return line, nil
}

// readWord reads an answer of one word, which is one of words.
func readWord(r *bufio.Reader, words ...string) (string, error) {
	line, err := readLine(r)
	if err != nil {
		return "", err
	}
	if !slices.Contains(words, line) {
		return "", unexpected(line, strings.Join(words, " or "))
	}
	return line, nil
}

// readVersion reads the answer to version.
func readVersion(r *bufio.Reader) (string, error) {
	line, err := readLine(r)
	if err != nil {
		return "", err
	}
	version, ok := strings.CutPrefix(line, "VERSION ")
	if !ok {
		return "", unexpected(line, "VERSION")
	}
	return version, nil
}

// readStats reads the answer to stats.
func readStats(r *bufio.Reader) (map[string]string, error) {
	stats := make(map[string]string)
	for {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		if line == "END" {
			return stats, nil
		}
		rest, ok := strings.CutPrefix(line, "STAT ")
		name, value, _ := strings.Cut(rest, " ")
		if !ok || name == "" || len(stats) == maxStats {
			return nil, unexpected(line, "STAT or END")
		}
		stats[name] = value
	}
}

// readItems reads the answer to a get, or gets, of keys, and calls each for each
// value. A key that was not asked for, or comes twice, is an error: the answers
// would belong to another command.
func readItems(
	r *bufio.Reader, keys []string, cas bool, maxValue int, each func(item),
) error {
	open := make(map[string]bool, len(keys))
	for _, k := range keys {
		open[k] = true
	}
	for {
		line, err := readLine(r)
		if err != nil {
			return err
		}
		if line == "END" {
			return nil
		}
		it, size, err := parseItem(line, cas)
		if err != nil {
			return err
		}
		if !open[it.key] {
			return unexpected(line, "a key that was asked for")
		}
		delete(open, it.key)
		if size > uint64(maxValue) {
			return &sizeError{key: it.key, size: size, max: maxValue}
		}
		if it.value, err = readValue(r, int(size)); err != nil {
			return err
		}
		each(it)
	}
}

// parseItem reads "VALUE key flags size", and the cas after it if there is to be
// one.
func parseItem(line string, cas bool) (it item, size uint64, err error) {
	words := strings.Split(line, " ")
	want := 4
	if cas {
		want = 5
	}
	if len(words) != want || words[0] != "VALUE" || words[1] == "" {
		return it, 0, unexpected(line, "VALUE or END")
	}
	it.key = words[1]
	flags, err := strconv.ParseUint(words[2], 10, 32)
	if err == nil {
		it.flags = uint32(flags)
		size, err = strconv.ParseUint(words[3], 10, 64)
	}
	if err == nil && cas {
		it.cas, err = strconv.ParseUint(words[4], 10, 64)
	}
	if err != nil {
		return it, 0, unexpected(line, "a line with numbers")
	}
	return it, size, nil
}

// readValue reads size bytes and the CR LF after them. Memory is taken as the
// bytes come, not as the server announces them.
func readValue(r *bufio.Reader, size int) ([]byte, error) {
	const atOnce = 64 << 10
	var b bytes.Buffer
	b.Grow(min(size, atOnce) + 2 + bytes.MinRead)
	if _, err := io.CopyN(&b, r, int64(size)+2); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	value := b.Bytes()
	if string(value[size:]) != "\r\n" {
		return nil, &protocolError{"the server answers a value that is not as long as it says"}
	}
	return value[:size:size], nil
}
