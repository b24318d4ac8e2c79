package main

import "testing"

func TestParse_Connections(t *testing.T) {
	o, err := parse([]string{"-connections", "1,128"})
	if err != nil || len(o.At) != 2 || o.At[1] != 128 {
		t.Errorf("%v %v", o, err)
	}
	for _, text := range []string{"", "x", "1,", "0"} {
		if _, err := parse([]string{"-connections", text}); err == nil {
			t.Errorf("%q is not an error", text)
		}
	}
}
