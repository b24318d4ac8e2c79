// Package linear checks histories of reads and writes by a checker that is not ours. It serves
// tests.
package linear

import (
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/hotrow/hotrow/internal/waittest"
)

// A Model is what a history has to be explained by: a program that does one operation at a time.
type Model = porcupine.Model

// An Operation is one of a history, which took its time.
type Operation = porcupine.Operation

// patience is how long Explains searches for an order.
const patience = 5 * time.Second

// Explains reports whether operations may have been done one after the other, each within its
// time, with the outcomes that they had. It is true, too, if that cannot be told soon.
func Explains(m Model, ops []Operation) bool {
	return porcupine.CheckOperationsTimeout(m, ops, waittest.Limit(patience)) != porcupine.Illegal
}
