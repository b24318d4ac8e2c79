package exchange

import "github.com/hotrow/hotrow/client/wire/cbor"

// appendMethod appends a method, as a number if it has one.
func appendMethod(dst, method []byte) []byte {
	for i := range methods {
		if string(method) == string(methods[i]) {
			return cbor.AppendUint(dst, uint64(i))
		}
	}
	return cbor.AppendBytes(dst, method)
}

// appendFields appends an array of pairs.
func appendFields(dst []byte, fields []Field) []byte {
	dst = cbor.AppendArray(dst, len(fields))
	for i := range fields {
		f := &fields[i]
		dst = cbor.AppendArray(dst, 2)
		if n, ok := numbers[string(f.Name)]; ok {
			dst = cbor.AppendUint(dst, uint64(n))
		} else {
			dst = cbor.AppendBytes(dst, f.Name)
		}
		dst = cbor.AppendBytes(dst, f.Value)
	}
	return dst
}

// A reader reads the payload of a part of an exchange.
type reader struct {
	cbor.Reader
	size int // bytes of the head so far
}

func newReader(b []byte) reader { return reader{Reader: cbor.NewReader(b)} }

// end returns the problem, if there is one or there are bytes left.
func (r *reader) end(what string) error { return r.End(what, ErrPayload) }

// count bounds what heads may have together.
func (r *reader) count(s []byte) []byte {
	if r.size += len(s); r.size > MaxHead {
		r.Fail("a head that is too large")
	}
	return s
}

// visible reads a byte string without blanks and controls.
func (r *reader) visible() []byte {
	s := r.count(r.Bytes())
	for _, c := range s {
		if c <= ' ' || c == 0x7f {
			r.Fail("a blank or control byte where none may be")
		}
	}
	return s
}

// status reads the status of an answer.
func (r *reader) status() int {
	n := r.Uint(599)
	if n < 100 {
		r.Fail("an invalid status")
	}
	return int(n)
}

// method reads a method: a number or its name.
func (r *reader) method() []byte {
	if r.IsUint() {
		return methods[r.Uint(uint64(len(methods)-1))]
	}
	s := r.visible()
	if len(s) == 0 {
		r.Fail("an empty method")
	}
	return s
}

// fields reads an array of pairs and appends them.
func (r *reader) fields(dst []Field) []Field {
	for range r.Array(0, MaxFields) {
		r.Array(2, 2)
		var f Field
		if r.IsUint() {
			f.Name = names[r.Uint(uint64(len(names)-1))]
			r.count(f.Name)
		} else {
			f.Name = r.visible()
		}
		f.Value = r.count(r.Bytes())
		if r.OK() {
			r.checkField(f)
		}
		if !r.OK() {
			return dst
		}
		dst = append(dst, f)
	}
	return dst
}

// checkField refuses what would not stay one field when it is written as a line.
func (r *reader) checkField(f Field) {
	if len(f.Name) == 0 || Hop(f.Name) {
		r.Fail("a field that is not carried")
	}
	for _, c := range f.Name {
		if c == ':' {
			r.Fail("an invalid field name")
		}
	}
	for _, c := range f.Value {
		if c < ' ' && c != '\t' || c == 0x7f {
			r.Fail("a control byte in a field")
		}
	}
}
