package row

import (
	"bytes"
	"encoding/json"
	"testing"
)

// deptShape is the document of a department with its employees.
func deptShape() *Shape {
	emps := NewShape([]Field{
		{Name: "empNo", Column: "empno", Kind: Int},
		{Name: "empName", Column: "ename", Kind: Text},
		{Name: "job", Column: "job", Kind: Text},
		{Name: "mgr", Column: "mgr", Kind: Int, OmitNull: true},
		{Name: "hiredate", Column: "hiredate", Kind: Date, RFC3339: true},
		{Name: "sal", Column: "sal", Kind: Int},
		{Name: "comm", Column: "comm", Kind: Int},
		{Name: "deptNumber", Column: "deptno", Kind: Int},
	})
	return NewShape([]Field{
		{Name: "deptNumber", Column: "deptno", Kind: Int},
		{Name: "deptName", Column: "dname", Kind: Text},
		{Name: "deptLocation", Column: "loc", Kind: Text},
		{Name: "emps", Kind: Rows, Shape: emps},
	})
}

// deptValues is a department with ten employees.
func deptValues() Values {
	var emps []Values
	for i := range 10 {
		mgr := IntValue(7839)
		if i == 0 {
			mgr = Value{}
		}
		emps = append(emps, Values{
			IntValue(1041773 + int64(i)),
			TextValue(Text, "Employee number 1041773"),
			TextValue(Text, "SALESMAN"),
			mgr,
			TextValue(Date, "1981-06-09"),
			IntValue(99),
			Value{},
			IntValue(1041772),
		})
	}
	return Values{
		IntValue(1041772),
		TextValue(Text, "Department number 1041772"),
		TextValue(Text, "NEW YORK"),
		RowsValue(emps),
	}
}

// allShape has a field of every kind.
func allShape() *Shape {
	return NewShape([]Field{
		{Name: "bool", Kind: Bool},
		{Name: "int", Kind: Int},
		{Name: "uint", Kind: Uint},
		{Name: "float", Kind: Float},
		{Name: "float32", Kind: Float32},
		{Name: "decimal", Kind: Decimal},
		{Name: "text", Kind: Text},
		{Name: "bytes", Kind: Bytes},
		{Name: "json", Kind: JSON},
		{Name: "date", Kind: Date},
		{Name: "midnight", Kind: Date, RFC3339: true},
		{Name: "time", Kind: Time},
		{Name: "datetime", Kind: Datetime},
		{Name: "instant", Kind: DatetimeTZ},
		{Name: "uuid", Kind: UUID},
		{Name: "array", Kind: Array},
		{Name: "loose"},
		{Name: "rows", Kind: Rows, Shape: NewShape([]Field{{Name: "n", Kind: Int}})},
	})
}

// one encodes one value as the only member of a document, called v.
func one(f Field, v Value) string {
	f.Name = "v"
	return string(NewShape([]Field{f}).AppendJSON(nil, Values{v}))
}

// reference encodes v as encoding/json does without HTML escapes.
func reference(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{"v": v}); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
