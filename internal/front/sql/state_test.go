package sqlfront

import (
	"bytes"
	"slices"
	"testing"
)

// TestSwallower_TakesOnlyItsAnswer: wherever the server's bytes are cut, the client gets what is not
// the answer, and the server's last words.
func TestSwallower_TakesOnlyItsAnswer(t *testing.T) {
	row := msg('D', int16(1), int32(3), []byte("row"))
	notice := msg('N', "SNOTICE", byte(0))
	notification := msg('A', int32(7), "news", "")
	fatal := msg('E', "SFATAL", "VFATAL", "C57P01", "Mbye", byte(0))
	failed := msg('E', "SERROR", "VERROR", "C42704", "Mno", byte(0))
	ready := msg('Z', byte('I'))
	behind := msg('1')
	for name, tt := range map[string]struct{ sent, want [][]byte }{
		"a row": {[][]byte{msg('1'), msg('2'), notice, row, msg('C', "SELECT 1"), notification, msg('3'), ready,
			behind}, [][]byte{notice, notification, behind}},
		"an error":       {[][]byte{failed, ready, behind}, [][]byte{behind}},
		"the last words": {[][]byte{notice, msg('1'), fatal}, [][]byte{notice, fatal}},
	} {
		sent, want := slices.Concat(tt.sent...), slices.Concat(tt.want...)
		for cut := range len(sent) {
			s := swallower{active: true}
			var got []byte
			for _, p := range [][]byte{sent[:cut], sent[cut:]} {
				rest, pieces := s.take(p, nil)
				got = append(append(got, slices.Concat(pieces...)...), rest...)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s, cut at %d: %q, want %q", name, cut, got, want)
			}
			if name == "a row" && !bytes.Equal(s.row, row[headSize:]) {
				t.Fatalf("cut at %d: the row is %q", cut, s.row)
			}
		}
	}
}
