package tier

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/row"
)

// records are documents of every kind, as records of one slot each.
func records(t testing.TB) []record {
	t.Helper()
	s := row.Stamp{Epoch: 3, Generation: 4, At: -5}
	docs := map[string]*row.Document{
		"10":        row.NewDocument("", row.FormatJSON, []byte(`{"a":1}`), 0xfedcba9876543210, s),
		"":          row.NewDocument("", row.FormatMsgPack, nil, 0, row.Stamp{}),
		"Tulsa,OK":  row.NewDocument("", row.FormatJSON, bytes.Repeat([]byte("x"), 70_000), 1, s),
		"\x00\xff ": row.NoRow(s),
	}
	var list []record
	for key, d := range docs {
		ref := Ref{Format: d.Format(), Key: row.Key(key)}
		if d.Absent() {
			ref.Format = row.FormatCBOR // nobody has a document that is not there in a format
		}
		r := newRecord(appendSlot(nil, 1<<63+7, ref), d, token{1, 1 << 60}, 99)
		list = append(list, r)
	}
	return list
}

func TestRecord_IsReadBack(t *testing.T) {
	for _, want := range records(t) {
		b := want.append([]byte("before"))[len("before"):]
		got, err := decodeRecord(b)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.slot) != string(want.slot) || got.run != want.run || got.token != want.token ||
			got.stamp != want.stamp || got.hash != want.hash || got.absent != want.absent ||
			got.format != want.format || !bytes.Equal(got.body, want.body) {
			t.Errorf("read back %+v, want %+v", got, want)
		}
		under := row.Stamp{Epoch: 8}
		d := got.document(under)
		if d.Stamp() != under || d.Absent() != want.absent {
			t.Errorf("document %+v", d.Stamp())
		}
		if !d.Absent() && d.ETag() != row.ETag(want.hash, want.format) {
			t.Errorf("the entity tag is %s", d.ETag())
		}
	}
}

// TestRecord_EveryBitCounts: no single wrong bit goes unnoticed.
func TestRecord_EveryBitCounts(t *testing.T) {
	for _, r := range records(t) {
		if len(r.body) > 1000 {
			continue
		}
		b := r.append(nil)
		for i := range 8 * len(b) {
			b[i/8] ^= 1 << (i % 8)
			if _, err := decodeRecord(b); !errors.Is(err, errRecord) {
				t.Errorf("bit %d: %v", i, err)
			}
			b[i/8] ^= 1 << (i % 8)
		}
		for n := range b {
			if _, err := decodeRecord(b[:n]); !errors.Is(err, errRecord) {
				t.Errorf("cut to %d bytes: %v", n, err)
			}
		}
	}
}

// FuzzRecord decodes any bytes: an error, or a record that encodes to the same.
// The checksum is made right first, else nothing behind it were ever reached.
func FuzzRecord(f *testing.F) {
	for _, r := range records(f) {
		f.Add(r.append(nil))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b) // the fuzzer's own must not be written to
		if len(b) >= 4 {
			binary.BigEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
		}
		r, err := decodeRecord(b)
		if err != nil {
			if !errors.Is(err, errRecord) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if diff := cmp.Diff(b, r.append(nil)); diff != "" {
			t.Errorf("encoded again (-read +written):\n%s", diff)
		}
		d := r.document(r.stamp)
		again := newRecord(r.slot, d, r.token, r.run)
		if again.hash != r.hash && !r.absent || !bytes.Equal(again.body, r.body) {
			t.Errorf("the document is not that of the record")
		}
	})
}
