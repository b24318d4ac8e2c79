package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// key appends the key of a document: 9 bytes that name its resource and format,
// and the text of its own key.
func key(dst []byte, n int) []byte {
	dst = append(dst, 0x5f, 0x1d, 0x0b, 0xa9, 0x77, 0x34, 0xe1, 0xc2, 0)
	return strconv.AppendInt(dst, 10_000_000_000+int64(n), 10)
}

// document returns document n: a department with ten employees as JSON, about
// 1.6 KB, as compressible as such documents are.
func document(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	b := fmt.Appendf(make([]byte, 0, 1800),
		`{"deptNumber":%d,"deptName":"%s %s","deptLocation":"%s","emps":[`,
		n, word(r), word(r), word(r))
	for i := range 10 {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"empNo":%d,"empName":"%s %s","job":"%s","mgr":%d,`+
			`"hiredate":"19%02d-%02d-%02dT00:00:00Z","sal":%d.%02d,"deptNumber":%d}`,
			r.IntN(1e8), word(r), word(r), word(r), r.IntN(1e8), r.IntN(100), 1+r.IntN(12),
			1+r.IntN(28), 800+r.IntN(9000), r.IntN(100), n)
	}
	return append(b, "]}"...)
}

// word returns a word that nobody knows.
func word(r *rand.Rand) string {
	const vowels, consonants = "aeiou", "bcdfghklmnprstvw"
	w := make([]byte, 0, 10)
	for range 3 + r.IntN(2) {
		w = append(w, consonants[r.IntN(len(consonants))], vowels[r.IntN(len(vowels))])
	}
	return string(w)
}
