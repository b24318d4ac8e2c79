// Package document reads the documents that every peer serves: a file with one
// JSON object a line, each a department with its employees.
//
// It is the data of the bench and nothing of any server.
package document

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

// A Dept is a department with its employees.
type Dept struct {
	Number   int64   `json:"deptNumber"`
	Name     string  `json:"deptName"`
	Location *string `json:"deptLocation"`
	Emps     []Emp   `json:"emps"`
}

// An Emp is an employee.
type Emp struct {
	Number   int64   `json:"empNo"`
	Name     *string `json:"empName"`
	Job      *string `json:"job"`
	Manager  *int64  `json:"mgr,omitempty"`
	Hiredate *string `json:"hiredate"`
	Salary   *int64  `json:"sal"`
	Comm     *int64  `json:"comm"`
	Dept     int64   `json:"deptNumber"`
}

// Prefix is what the path of a document begins with; its key follows.
const Prefix = "/depts/"

// ReadAll returns the documents of a file by their keys, as they stand there.
func ReadAll(path string) (map[int64][]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := map[int64][]byte{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var key struct {
			Number int64 `json:"deptNumber"`
		}
		if err := json.Unmarshal(lines.Bytes(), &key); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(all)+1, err)
		}
		all[key.Number] = bytes.Clone(lines.Bytes())
	}
	return all, lines.Err()
}

// Decode returns the documents as structs.
func Decode(all map[int64][]byte) (map[int64]*Dept, error) {
	depts := make(map[int64]*Dept, len(all))
	for key, text := range all {
		d := new(Dept)
		if err := json.Unmarshal(text, d); err != nil {
			return nil, fmt.Errorf("document %d: %w", key, err)
		}
		depts[key] = d
	}
	return depts, nil
}

// Key returns the key in a path.
func Key(path string) (int64, bool) {
	if len(path) < len(Prefix) || path[:len(Prefix)] != Prefix {
		return 0, false
	}
	key, err := strconv.ParseInt(path[len(Prefix):], 10, 64)
	return key, err == nil
}
