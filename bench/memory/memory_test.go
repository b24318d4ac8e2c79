package main

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestCollector_ReadsTheRuntimesLines(t *testing.T) {
	var c collector
	err := c.read("listening\n"+
		"gc 7 @1.2s 3%: 0.10+5.0+0.30 ms clock, 0.2+1.0/2.0/9.0+0.8 ms cpu, 6->7->4 MB, 7 MB goal\n"+
		"gc 8 @1.4s 3%: 2.0+5.0+0.20 ms clock, 4.0+0/1.0/9.0+1.0 ms cpu, 6->7->4 MB, 7 MB goal, 2 P\n",
		time.Second)
	if err != nil || c.cycles != 2 || c.longest != 2*time.Millisecond || c.share <= 0 || c.share > .01 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestSet_BodiesAreDocumentsOfTheirSize(t *testing.T) {
	for _, text := range []string{"10x50", "1000xmixed"} {
		s, err := newSet(text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.rows {
			b := s.appendBody(nil, i, byte(i))
			if len(b) != s.size(i) || !json.Valid(b) || string(b) == string(s.appendBody(nil, i, byte(i+1))) {
				t.Errorf("%s: row %d of %d bytes is %q", text, i, s.size(i), b)
			}
		}
	}
	for _, text := range []string{"", "10", "10x", "0x100", "10x49", "xmixed", "90000000x100"} {
		if s, err := newSet(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}

func TestSpeech_ReadsAnswers(t *testing.T) {
	for _, tt := range []struct {
		speak speech
		text  string
		bytes int
		fails bool
	}{
		{redisSpeech, "$3\r\nabc\r\n", 3, false},
		{redisSpeech, "$-1\r\n", 0, true},
		{memcachedSpeech, "VALUE 10000000 0 3\r\nabc\r\nEND\r\n", 3, false},
		{memcachedSpeech, "END\r\n", 0, true},
		{httpSpeech, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 3, false},
		{httpSpeech, "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc", 0, true},
	} {
		n, err := tt.speak.got(bufio.NewReader(strings.NewReader(tt.text)))
		if n != tt.bytes || (err != nil) != tt.fails {
			t.Errorf("%q: %d, %v", tt.text, n, err)
		}
	}
}
