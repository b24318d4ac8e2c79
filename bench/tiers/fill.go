package tiers

import (
	"context"
	"errors"
	"os"
	"strconv"

	rows "github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// tiersBatch is how many documents one commit of the filling takes: as many as
// may wait for it.
const tiersBatch = 30_000

// scattered is a prime: documents are filled in an order in which neighbours lie
// apart, so that reads of a tenth of them touch the whole file.
const scattered = 2_654_435_761

// fillTiers makes the file, straight through the tier. One that is complete is
// left alone.
func fillTiers(ctx context.Context, o Order) error {
	if _, err := os.Stat(o.Path); err == nil {
		return nil
	}
	final := o.Path
	o.Path += ".part"
	if err := os.RemoveAll(o.Path); err != nil {
		return err
	}
	d, s, err := openDiskTier(o)
	if err != nil {
		return err
	}
	s.Begin(tier.Mark{Origin: tiersSource, Pos: 1})
	if err := errors.Join(putAll(ctx, d, o.Documents), d.Close()); err != nil {
		return err
	}
	return os.Rename(o.Path, final)
}

// putAll puts every document once.
func putAll(ctx context.Context, d *tier.Disk, documents int64) error {
	var body []byte
	for i := range documents {
		n := i * scattered % documents
		ref := refOf(n)
		body = appendTiersBody(body[:0], n)
		d.Put(ref, rows.NewDocument(ref.Key, ref.Format, body, uint64(n), under))
		if (i+1)%tiersBatch != 0 {
			continue
		}
		if err := errors.Join(ctx.Err(), d.Sync()); err != nil {
			return err
		}
	}
	return d.Sync()
}

// appendTiersBody appends the body of document n.
func appendTiersBody(dst []byte, n int64) []byte {
	begin := len(dst)
	dst = appendTiersHead(dst, n)
	for i := int64(0); len(dst)-begin < tiersBody-2; i++ {
		dst = append(dst, 'a'+byte((n+i*i)%26))
	}
	return append(dst, '"', '}')
}

// appendTiersHead appends what the body of document n begins with.
func appendTiersHead(dst []byte, n int64) []byte {
	dst = append(dst, `{"number":`...)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, `,"text":"`...)
}
