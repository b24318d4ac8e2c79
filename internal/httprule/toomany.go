package httprule

// TooMany is what a client of HTTP/1.1 is told whose connection is one too many.
const TooMany = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n" +
	"Content-Length: 0\r\n\r\n"
