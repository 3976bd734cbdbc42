package screening

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// plainSign reads one character as the ASCII one that it stands for in numbers, addresses and names of things.
func plainSign(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	if unicode.IsDigit(r) {
		return '0' + digitValue(r)
	}
	switch r {
	case 0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212, 0xfe58, 0xfe63, 0xff0d:
		return '-'
	case 0x2018, 0x2019, 0x201b, 0x2032:
		return '\''
	case 0x201c, 0x201d, 0x201e, 0x2033, 0xab, 0xbb:
		return '"'
	case 0x2024, 0x3002, 0xff61:
		return '.'
	case 0x2044, 0x2215:
		return '/'
	}
	if unicode.IsSpace(r) {
		return ' '
	}
	if r >= 0xff01 && r <= 0xff5e {
		return r - 0xff01 + '!'
	}
	if r >= 0x1d400 && r <= 0x1d7ff || r >= 0x2460 && r <= 0x24ff {
		if plain := norm.NFKD.String(string(r)); len(plain) == 1 {
			return rune(plain[0])
		}
	}
	return r
}

// digitValue is the value of a decimal digit of any script: they stand in runs of ten.
func digitValue(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}

// single folds a rune where its folded form is one rune, so that places stay what they are.
func (f *folder) single(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	if folded := []rune(f.rune(r)); len(folded) == 1 && folded[0] != ' ' {
		return folded[0]
	}
	return unicode.ToLower(r)
}

func wordRune(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return asciiAlnum(r)
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

func asciiAlnum(r rune) bool { return asciiLetter(r) || asciiDigit(r) }

func asciiLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

func asciiDigit(r rune) bool { return '0' <= r && r <= '9' }

func hexDigit(r rune) bool {
	return asciiDigit(r) || 'a' <= r && r <= 'f' || 'A' <= r && r <= 'F'
}
