package recall

import "sort"

// letterOrDigit reports whether r is a letter or a decimal digit in Unicode 15.0.
func letterOrDigit(r rune) bool {
	if r < 0x80 {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	i := sort.Search(len(wordSpans), func(i int) bool { return wordSpans[i][1] >= r })
	return i < len(wordSpans) && wordSpans[i][0] <= r
}

// lower is the simple lower case of r in Unicode 15.0.
func lower(r rune) rune {
	if r < 0x80 {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}
	i := sort.Search(len(caseSpans), func(i int) bool { return caseSpans[i][1] >= r })
	if i == len(caseSpans) {
		return r
	}
	first, step, distance := caseSpans[i][0], caseSpans[i][2], caseSpans[i][3]
	if r < first || (r-first)%step != 0 {
		return r
	}
	return r + distance
}
