package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/bench/load"
)

// The generators that are programs in PHP (bench/peers/php): processes that connect anew
// for each request, as what runs below PHP-FPM does.
const (
	phpStreams = "php streams" // file_get_contents
	phpCurl    = "php curl"
)

// authorities are the certificates that curl reads on Debian when nobody says otherwise.
const authorities = "/etc/ssl/certs/ca-certificates.crt"

// onceByPHP measures one row once with a program in PHP, with a process for each of the
// connections. Answers are checked for their status and that they are of one length.
func (w *Fixture) onceByPHP(
	ctx context.Context, p Placement, row *row, peer *Server, connections int,
) (*load.Result, error) {
	php, err := Look("php")
	if err != nil {
		return nil, err
	}
	url := peer.firstURL()
	way := strings.TrimPrefix(row.Generator, "php ")
	trusted := peer.Cert // "": there is nothing to trust
	if trusted != "" && row.Generator == phpCurl {
		if trusted, err = w.trustedBeside(peer); err != nil {
			return nil, err
		}
	}
	return w.onceBy(ctx, row, peer, connections, func(
		ctx context.Context, d time.Duration,
	) (*load.Result, error) {
		ctx, cancel := context.WithTimeout(ctx, d+Patience)
		defer cancel()
		return RunGenerator(ctx, p, peer, parseFigures, php, "bench/peers/php/clients.php", way,
			strconv.Itoa(connections), strconv.FormatFloat(d.Seconds(), 'f', 3, 64), url, trusted)
	})
}

// trustedBeside writes the certificates that the system trusts, and the peer's: curl reads
// all of them, for each handle. PHP's streams look one up in a directory, so that a file
// with the peer's alone is as much work for them.
func (w *Fixture) trustedBeside(peer *Server) (string, error) {
	known, err := os.ReadFile(authorities)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s", ErrMissing, authorities)
	}
	if err != nil {
		return "", err
	}
	own, err := os.ReadFile(peer.Cert)
	if err != nil {
		return "", err
	}
	file := filepath.Join(w.Tmp, "trusted.pem")
	return file, os.WriteFile(file, append(known, own...), 0o644)
}
