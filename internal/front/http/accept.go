package httpfront

import (
	"net/http"

	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/row"
)

// A media is a representation and the name under which it is sent: MessagePack
// has three, and a client is answered with the one that it asked for.
type media struct {
	format row.Format
	name   string
}

// documentMedia are the representations of documents, the preferred one first.
var documentMedia = [5]media{
	{row.FormatJSON, "application/json"},
	{row.FormatMsgPack, "application/vnd.msgpack"},
	{row.FormatMsgPack, "application/msgpack"},
	{row.FormatMsgPack, "application/x-msgpack"},
	{row.FormatCBOR, "application/cbor"},
}

// formatNames are the values of ?format=.
const formatNames = "json, msgpack or cbor"

// negotiateDocument picks the representation of a document or list. format is
// the value of ?format=, which beats the Accept header.
func negotiateDocument(h http.Header, format string) (media, error) {
	switch format {
	case "":
	default:
		for _, m := range documentMedia {
			if m.format.String() == format {
				return m, nil
			}
		}
		return media{}, problem{kind: kindBadQuery, detail: "format must be " + formatNames}
	}
	var names [len(documentMedia)]string
	for i := range names {
		names[i] = documentMedia[i].name
	}
	i, ok := httprule.Negotiate(h.Values("Accept"), names[:])
	if !ok {
		return media{}, problem{kind: kindNotAcceptable}
	}
	return documentMedia[i], nil
}
