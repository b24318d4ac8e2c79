// Package nonblock makes system calls that cannot block, on Linux: it goes to
// the kernel without telling Go's scheduler, which costs a fifth of a hit. That
// is right only because sockets are O_NONBLOCK and epoll is asked for what is
// there already: the caller sees to it.
//
// It obliges whoever calls these in a loop: such calls and code that the
// compiler has inlined are no place where a goroutine can be stopped, so every
// turn has to make one call of a function with a prologue.
package nonblock
