// Package programtest builds hotrow and runs it as a program beside a test.
package programtest
