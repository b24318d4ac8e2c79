package row

// AppendList appends one array of documents, all in a format.
func AppendList(dst []byte, f Format, docs []*Document) []byte {
	dst = appendListHead(dst, f, len(docs))
	for i, doc := range docs {
		if i > 0 && f == FormatJSON {
			dst = append(dst, ',')
		}
		dst = append(dst, doc.Body()...)
	}
	if f == FormatJSON {
		dst = append(dst, ']')
	}
	return dst
}

// ListFrame returns how many bytes a list of n documents has besides them.
func ListFrame(f Format, n int) int {
	if f == FormatJSON {
		return len("[]") + max(n-1, 0)
	}
	var head [16]byte
	return len(appendListHead(head[:0], f, n))
}

// appendListHead appends what a list of n documents begins with.
func appendListHead(dst []byte, f Format, n int) []byte {
	switch f {
	case FormatJSON:
		return append(dst, '[')
	case FormatCBOR:
		return AppendCBORHead(dst, CBORArray, uint64(n))
	}
	return appendMsgPackArray(dst, n)
}
