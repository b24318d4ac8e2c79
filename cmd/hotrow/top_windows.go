package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// allowSequences has the console understand the sequences of ECMA-48.
func allowSequences(out *os.File) error {
	var mode uint32
	console := windows.Handle(out.Fd())
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return err
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
}
