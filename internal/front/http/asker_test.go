package httpfront

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
)

// askerVariable has a process of this test binary be the client of BenchmarkSite_JWT: the address.
const askerVariable = "HOTROW_TEST_ASKER"

// askRepeatedly reads how often to send which request, sends it, and says so, until its input ends.
func askRepeatedly(addr string, in io.Reader, out io.Writer) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	answers, asks := bufio.NewReader(conn), bufio.NewReader(in)
	for {
		line, err := asks.ReadString('\n')
		if err != nil {
			return nil
		}
		var n int
		var header string
		if _, err := fmt.Sscanf(line, "%d %q", &n, &header); err != nil {
			return err
		}
		ask := []byte("GET /depts/10 HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n")
		for range n {
			if _, err := conn.Write(ask); err != nil {
				return err
			}
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
				return fmt.Errorf("status %d: %w", resp.StatusCode, err)
			}
		}
		if _, err := fmt.Fprintln(out, "done"); err != nil {
			return err
		}
	}
}
