package row

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/vmihailenco/msgpack/v5"
)

// The structs are what a program of its own would declare for the document.
type deptDoc struct {
	DeptNumber   int64    `json:"deptNumber" msgpack:"deptNumber"`
	DeptName     string   `json:"deptName" msgpack:"deptName"`
	DeptLocation *string  `json:"deptLocation" msgpack:"deptLocation"`
	Emps         []empDoc `json:"emps" msgpack:"emps"`
}

type empDoc struct {
	EmpNo      int64   `json:"empNo" msgpack:"empNo"`
	EmpName    *string `json:"empName" msgpack:"empName"`
	Job        *string `json:"job" msgpack:"job"`
	Mgr        int64   `json:"mgr,omitempty" msgpack:"mgr,omitempty"`
	Hiredate   *string `json:"hiredate" msgpack:"hiredate"`
	Sal        *int64  `json:"sal" msgpack:"sal"`
	Comm       *int64  `json:"comm" msgpack:"comm"`
	DeptNumber int64   `json:"deptNumber" msgpack:"deptNumber"`
}

func deptStruct() *deptDoc {
	location, name, job := "NEW YORK", "Employee number 1041773", "SALESMAN"
	hired, sal := "1981-06-09T00:00:00Z", int64(99)
	d := &deptDoc{
		DeptNumber: 1041772, DeptName: "Department number 1041772", DeptLocation: &location,
	}
	for i := range 10 {
		e := empDoc{
			EmpNo: 1041773 + int64(i), EmpName: &name, Job: &job, Mgr: 7839,
			Hiredate: &hired, Sal: &sal,
			DeptNumber: 1041772,
		}
		if i == 0 {
			e.Mgr = 0
		}
		d.Emps = append(d.Emps, e)
	}
	return d
}

func BenchmarkEncode(b *testing.B) {
	s, v, d := deptShape(), deptValues(), deptStruct()
	dst := make([]byte, 0, 4096)
	b.Run("format=json/by=row", func(b *testing.B) {
		for b.Loop() {
			dst = s.AppendJSON(dst[:0], v)
		}
		b.SetBytes(int64(len(dst)))
	})
	b.Run("format=json/by=encoding-json", func(b *testing.B) {
		var buf bytes.Buffer
		e := json.NewEncoder(&buf)
		e.SetEscapeHTML(false)
		for b.Loop() {
			buf.Reset()
			if err := e.Encode(d); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(buf.Len()))
	})
	b.Run("format=msgpack/by=row", func(b *testing.B) {
		for b.Loop() {
			dst = s.AppendMsgPack(dst[:0], v)
		}
		b.SetBytes(int64(len(dst)))
	})
	b.Run("format=cbor/by=row", func(b *testing.B) {
		for b.Loop() {
			dst = s.AppendCBOR(dst[:0], v)
		}
		b.SetBytes(int64(len(dst)))
	})
	b.Run("format=cbor/by=fxamacker", func(b *testing.B) {
		var buf bytes.Buffer
		for b.Loop() {
			buf.Reset()
			if err := cbor.MarshalToBuffer(d, &buf); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(buf.Len()))
	})
	b.Run("format=msgpack/by=vmihailenco", func(b *testing.B) {
		var buf bytes.Buffer
		e := msgpack.NewEncoder(&buf)
		for b.Loop() {
			buf.Reset()
			if err := e.Encode(d); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(buf.Len()))
	})
}

func BenchmarkDecode(b *testing.B) {
	s := deptShape()
	body := s.AppendJSON(nil, deptValues())
	packed := s.AppendMsgPack(nil, deptValues())
	b.Run("format=json", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.DecodeJSON(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	inCBOR := s.AppendCBOR(nil, deptValues())
	b.Run("format=cbor", func(b *testing.B) {
		b.SetBytes(int64(len(inCBOR)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.DecodeCBOR(inCBOR); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("format=msgpack", func(b *testing.B) {
		b.SetBytes(int64(len(packed)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.DecodeMsgPack(packed); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkParseKey(b *testing.B) {
	for name, t := range map[string]struct {
		kind Kind
		key  Key
	}{
		"kind=int":  {Int, "1041772"},
		"kind=uuid": {UUID, "0f8fad5b-d9cb-469f-a165-70867728950e"},
		"kind=text": {Text, "somebody@example.org"},
	} {
		b.Run(name, func(b *testing.B) {
			kt := KeyType{{Column: "id", Kind: t.kind, Bits: 32}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := kt.Parse(t.key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
