// Package lists asks random lists of real databases beside writers, and compares each answer with
// what the database itself says to the same question.
//
// It holds no code of the product and is imported by nothing.
package lists
