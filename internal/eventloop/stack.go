package eventloop

// growStack makes the stack of its goroutine 16 KiB large at least, as handlers that ask a
// database need. A goroutine begins with a small one, which is copied to one of twice the
// size, with all its frames, whenever it is too small: here it is once, and there are few.
//
//go:noinline
func growStack() {
	var frame [8 << 10]byte
	touch(frame[:])
}

// touch keeps the frame of growStack from being left out.
//
//go:noinline
func touch(frame []byte) { frame[0] = 1 }
