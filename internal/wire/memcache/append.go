package memcache

import "strconv"

// AppendLine appends a reply that is a line.
func AppendLine(dst []byte, text string) []byte {
	return append(append(dst, text...), "\r\n"...)
}

// AppendValue appends the item of a get, with its cas unique for gets.
func AppendValue(dst []byte, it *Item, unique bool) []byte {
	dst = append(append(append(dst, "VALUE "...), it.Key...), ' ')
	if it.Flags == 0 {
		dst = append(dst, '0', ' ')
	} else {
		dst = append(strconv.AppendUint(dst, uint64(it.Flags), 10), ' ')
	}
	dst = strconv.AppendInt(dst, int64(len(it.Value)), 10)
	if unique {
		dst = strconv.AppendUint(append(dst, ' '), it.Unique, 10)
	}
	return append(append(append(dst, "\r\n"...), it.Value...), "\r\n"...)
}

// AppendStat appends one line of the reply to stats.
func AppendStat(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, "STAT "...), name...), ' ')
	return append(append(dst, value...), "\r\n"...)
}
