package memcached

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readAll reads the answer to a get of a and b.
func readAll(text string, cas bool) (map[string]string, error) {
	got := make(map[string]string)
	r := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(text)), 4096)
	err := readItems(r, []string{"a", "b"}, cas, 100, func(it item) {
		got[it.key] = string(it.value) + " " + strconv.FormatUint(uint64(it.flags), 10) + " " +
			strconv.FormatUint(it.cas, 10)
	})
	return got, err
}

func TestReadItems_ReadsWhatServersSend(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"END\r\n": {},
		"VALUE b 4294967295 5\r\nEND\r\n\r\nVALUE a 0 0\r\n\r\nEND\r\n": {
			"b": "END\r\n 4294967295 0", "a": " 0 0"},
	} {
		got, err := readAll(text, false)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
	got, err := readAll("VALUE a 1 1 18446744073709551615\r\nx\r\nEND\r\n", true)
	if got["a"] != "x 1 18446744073709551615" || err != nil {
		t.Errorf("with cas: %v, %v", got, err)
	}
}

func TestReadItems_RefusesTheRest(t *testing.T) {
	for _, text := range []string{
		"", "END", "END\n", "END \r\n", "end\r\n", "\r\n", "STORED\r\n",
		"VALUE a 0\r\n\r\nEND\r\n", "VALUE a 0 1 5\r\nx\r\nEND\r\n", "VALUE  0 1\r\nx\r\nEND\r\n",
		"VALUE a 0  1\r\nx\r\nEND\r\n", "VALUE a -1 1\r\nx\r\nEND\r\n",
		"VALUE a 4294967296 1\r\nx\r\nEND\r\n", "VALUE a 0 +1\r\nx\r\nEND\r\n",
		"VALUE a 0 0x1\r\nx\r\nEND\r\n", "VALUE a 0 1\r\nxyEND\r\n", "VALUE a 0 3\r\nx\r\nEND\r\n",
		"VALUE c 0 1\r\nx\r\nEND\r\n", "VALUE a 0 1\r\nx\r\n",
		"VALUE a 0 1\r\nx\r\nVALUE a 0 1\r\nx\r\nEND\r\n", "VALUE a 0 101\r\n",
		"VALUE a 0 18446744073709551616\r\n", "VALUE a 0 1\nx\r\nEND\r\n",
		"VALUE " + strings.Repeat("a", maxLine) + " 0 1\r\n", strings.Repeat("x", 1<<16),
		"ERROR\r\n", "SERVER_ERROR\r\n", "CLIENT_ERROR a b\r\n",
	} {
		if got, err := readAll(text, false); err == nil {
			t.Errorf("%.60q is read as %v", text, got)
		}
	}
	if _, err := readAll("VALUE a 0 1\r\nx\r\nEND\r\n", true); err == nil {
		t.Error("a value without its cas is read")
	}
	var reply *replyError
	_, err := readAll("SERVER_ERROR out of memory\r\n", false)
	if !errors.As(err, &reply) || reply.text != "out of memory" ||
		err.Error() != "SERVER_ERROR out of memory" {
		t.Errorf("a server's error is %v", err)
	}
}

func TestReadStats_ReadsNamesWithValues(t *testing.T) {
	read := func(text string) (map[string]string, error) {
		return readStats(bufio.NewReader(strings.NewReader(text)))
	}
	got, err := read("STAT pid 12\r\nSTAT empty\r\nSTAT s a b\r\nEND\r\n")
	want := map[string]string{"pid": "12", "empty": "", "s": "a b"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("stats are %v, %v", got, err)
	}
	for _, text := range []string{"STAT \r\nEND\r\n", "stat a b\r\nEND\r\n", "STAT a b\r\n",
		strings.Repeat("STAT a b\r\n", 2) + "what\r\n"} {
		if got, err := read(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	var many strings.Builder
	for i := range maxStats + 1 {
		many.WriteString("STAT " + strconv.Itoa(i) + " 1\r\n")
	}
	if _, err := read(many.String() + "END\r\n"); err == nil {
		t.Error("stats without end are read")
	}
}

// fuzzed reads an answer to a get of a and b, and writes it again.
func fuzzed(t *testing.T, data []byte, cas bool) ([]byte, error) {
	var again []byte
	r := bufio.NewReader(bytes.NewReader(data))
	err := readItems(r, []string{"a", "b"}, cas, 1<<10, func(it item) {
		if len(it.value) > 1<<10 || it.cas != 0 && !cas {
			t.Errorf("%q: %+v", data, it)
		}
		again = fmt.Appendf(again, "VALUE %s %d %d", it.key, it.flags, len(it.value))
		if cas {
			again = fmt.Appendf(again, " %d", it.cas)
		}
		again = fmt.Appendf(again, "\r\n%s\r\n", it.value)
	})
	return append(again, "END\r\n"...), err
}

// FuzzAnswer reads any bytes as every kind of answer. What is read as values and
// written again is read as the same.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"END\r\n", "VALUE a 0 1\r\nx\r\nVALUE b 7 0\r\n\r\nEND\r\n", "VALUE a 0 1 9\r\nx\r\nEND\r\n",
		"ERROR\r\n", "SERVER_ERROR x\r\n", "STORED\r\n", "VERSION 1.6.18\r\n",
		"STAT a b\r\nEND\r\n", "VALUE a 0 99999999\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, cas := range []bool{false, true} {
			once, err := fuzzed(t, data, cas)
			if err != nil {
				continue
			}
			if twice, err := fuzzed(t, once, cas); err != nil || !bytes.Equal(once, twice) {
				t.Errorf("%q is read as %q and then as %q, %v", data, once, twice, err)
			}
		}
		r := func() *bufio.Reader { return bufio.NewReader(bytes.NewReader(data)) }
		if word, err := readWord(r(), "STORED", "EXISTS"); err == nil &&
			!bytes.HasPrefix(data, []byte(word+"\r\n")) {
			t.Errorf("%q is %s", data, word)
		}
		if _, err := readVersion(r()); err == nil && !bytes.HasPrefix(data, []byte("VERSION ")) {
			t.Errorf("%q is a version", data)
		}
		if stats, err := readStats(r()); err == nil && len(stats) > len(data)/7 {
			t.Errorf("%q is %v", data, stats)
		}
	})
}
