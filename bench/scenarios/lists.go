package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
)

// changesPerSecond is how many rows of each table are changed while tables change, of which no
// list that is asked for has any.
const changesPerSecond = 500

// measureLists loads a server with one kind of question: while nothing changes, and while
// rows change of the tables that it is about.
func measureLists(
	ctx context.Context, w *harness.Fixture, a *harness.Attempt,
) ([]harness.Figure, error) {
	quiet, err := w.Once(ctx, a.On, a.Row, a.Peer, a.Connections, 0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, out := io.Pipe()
	go func() { _ = out.CloseWithError(writeChanges(ctx, out)) }()
	changes := make(chan error, 1)
	go func() { changes <- a.Peer.SQL(context.WithoutCancel(ctx), in) }()
	changing, err := w.Once(ctx, a.On, a.Row, a.Peer, a.Connections, 0)
	cancel()
	if err := errors.Join(err, <-changes); err != nil {
		return nil, err
	}
	return []harness.Figure{
		harness.FigureOf("answers/s", quiet.Rate),
		harness.FigureOf("answers/s, tables change", changing.Rate),
		harness.FigureOf("CPU µs", quiet.Server.Total),
		harness.FigureOf("CPU µs, tables change", changing.Server.Total),
		harness.FigureOf("p99 µs", harness.P99(quiet)),
		harness.FigureOf("p99 µs, tables change", harness.P99(changing)),
		harness.FigureOf("bytes", float64(quiet.Bytes)/float64(max(quiet.Answers, 1))),
		harness.FigureOf("failed", float64(quiet.Failed()+changing.Failed())),
	}, nil
}

// writeChanges writes changes of rows as SQL until ctx ends.
func writeChanges(ctx context.Context, to io.Writer) error {
	const at = 10 * time.Millisecond
	_, err := io.WriteString(to, "SET synchronous_commit = off;\n")
	for ; err == nil && ctx.Err() == nil; harness.Wait(ctx, at) {
		for range changesPerSecond * int(at) / int(time.Second) {
			n := rand.IntN(1000)
			if _, err = fmt.Fprintf(to, "UPDATE posts SET title = '%d' WHERE id ="+
				" (SELECT max(id) - %d FROM posts);\n"+
				"UPDATE comments SET body = '%d' WHERE id = %d;\n",
				rand.IntN(1e9), n, rand.IntN(1e9), n+1); err != nil {
				break
			}
		}
	}
	return err
}
