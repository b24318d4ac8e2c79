package eventloop

import "time"

// goOn waits for the end of an answer that Send goes on with. It reports false when there is
// nobody to tell.
func (s *stream) goOn() bool {
	gone := make(chan struct{})
	_ = s.nc.SetReadDeadline(time.Time{}) // fails when the connection has, and so will Read
	go func() {
		defer close(gone)
		for buf := make([]byte, 64); ; { // a peer that sends more is not listened to
			if _, err := s.nc.Read(buf); err != nil {
				return
			}
		}
	}()
	stop := func() {
		_ = s.nc.SetReadDeadline(longAgo)
		<-gone
	}
	select {
	case a := <-s.answer:
		stop()
		s.take(a)
		return true
	case <-gone:
	case <-s.srv.aborted:
		s.cut()
		stop()
	}
	return false
}
