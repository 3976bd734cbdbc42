package screening

import "strings"

// phones takes telephone numbers: international ones, national ones in a customary form, and any row of digits that a word like
// call or mobile stands beside.
func (p *page) phones() {
	for i := 0; i < len(p.signs); i++ {
		if !asciiDigit(p.signs[i]) && p.signs[i] != '+' && p.signs[i] != '(' || i > 0 && (asciiAlnum(p.signs[i-1]) || strings.ContainsRune("#$€£_@", p.signs[i-1])) {
			continue
		}
		n := p.dialled(i)
		if n.digits == 0 {
			continue
		}
		if p.isPhone(n) {
			p.take(ItemPhone, n.from, n.to)
		}
		i = n.to - 1
	}
}

// dialled is a row of digits in groups: which signs stand first and how long the groups are.
type dialled struct {
	from, to int
	plus     bool
	groups   []string
	digits   int
	brackets bool
}

const mostDialled = 15 // E.164

func (p *page) dialled(from int) dialled {
	n := dialled{from: from, to: from}
	i := from
	if p.signs[i] == '(' && p.at(i+1) == '+' { // (+49) 30 1234567
		i++
	}
	if p.signs[i] == '+' {
		n.plus = true
		i++
	}
	for i < len(p.signs) {
		gap, most := i, 3
		if p.signs[i] == ')' { // (212) - 555
			most = 4
		}
		for i < len(p.signs) && i < gap+most && strings.ContainsRune(" -.·()/", p.signs[i]) {
			n.brackets = n.brackets || p.signs[i] == '('
			i++
		}
		group := i
		for i < len(p.signs) && asciiDigit(p.signs[i]) {
			i++
		}
		size := i - group
		if size == 0 || n.digits+size > mostDialled || p.goesOn(i) && !p.extension(i) {
			break
		}
		n.groups = append(n.groups, string(p.signs[group:i]))
		n.digits += size
		n.to = i
	}
	n.to = p.pastExtension(n.to)
	return n
}

// goesOn reports whether what ends before i isn't all: a letter or digit follows, or a word for what the number counts. Scripts without
// blanks go on otherwise.
func (p *page) goesOn(i int) bool {
	r := p.at(i)
	return wordRune(r) && (!unspaced(r) || strings.ContainsRune(counters, r))
}

const counters = "円圓元원年月日号號番人个個名回歳岁分秒時时度万萬億亿千百点點년월일번명"

// extension: x123 at once behind the number.
func (p *page) extension(i int) bool { return p.folded[i] == 'x' && asciiDigit(p.at(i+1)) }

func (p *page) pastExtension(i int) int {
	end := i
	for end < len(p.signs) && strings.ContainsRune(" ,;(", p.signs[end]) && end < i+2 {
		end++
	}
	bracket := end > i && p.signs[end-1] == '('
	word := end
	for end < len(p.signs) && (asciiLetter(p.signs[end]) || p.signs[end] == '#' || p.signs[end] == '.') {
		end++
	}
	switch strings.Trim(string(p.folded[word:end]), ".") {
	case "x", "ext", "extn", "extension", "#", "durchwahl", "dw", "apparat", "klappe", "nebenstelle", "poste", "interno", "anexo", "ramal", "toestel":
	default:
		return i
	}
	for end < len(p.signs) && strings.ContainsRune(" :=", p.signs[end]) {
		end++
	}
	digit := end
	for end < len(p.signs) && asciiDigit(p.signs[end]) && end < digit+6 {
		end++
	}
	switch {
	case digit == end:
		return i
	case bracket && p.at(end) == ')':
		return end + 1
	}
	return end
}

func (p *page) isPhone(n dialled) bool {
	first := n.groups[0]
	switch {
	case n.digits < 6, p.dateLike(n), p.at(n.to) == '%', p.at(n.to) == ':' && asciiDigit(p.at(n.to+1)):
		return false
	case n.plus:
		return n.digits > 6 && first[0] != '0'
	case northAmerican(n.groups):
		return true
	case strings.HasPrefix(first, "00") && n.digits > 9 && len(n.groups) > 1, n.brackets && n.digits > 8 && len(n.groups) > 1:
		return true
	case first[0] == '0' && len(first) > 1 && n.digits > 8 && n.digits < 13 && (len(n.groups) > 1 || n.digits > 9 && n.digits < 12 && first[1] != '0'):
		return true
	}
	return n.digits < 14 && (n.digits > 6 || len(n.groups) > 1) && p.phoneWord(n)
}

// northAmerican: 541-714-1388, (541) 714-1388, 1-541-714-1388, 001-…; the digits of its areas and exchanges begin at 2.
func northAmerican(groups []string) bool {
	if len(groups) == 4 && (groups[0] == "1" || groups[0] == "001" || groups[0] == "01") {
		groups = groups[1:]
	}
	return len(groups) == 3 && len(groups[0]) == 3 && len(groups[1]) == 3 && len(groups[2]) == 4 && groups[0][0] >= '2'
}

// dateLike: 2000-04-16, 16.04.2000, and the hour behind it.
func (p *page) dateLike(n dialled) bool {
	if len(n.groups) < 3 || n.plus || n.brackets {
		return false
	}
	a, b, c := n.groups[0], n.groups[1], n.groups[2]
	return len(a) == 4 && len(b) < 3 && len(c) < 3 && date(number(c), number(b)) && (a[:2] == "19" || a[:2] == "20") && n.digits < 11 ||
		len(a) < 3 && len(b) < 3 && len(c) == 4 && (c[:2] == "19" || c[:2] == "20") && (date(number(a), number(b)) || date(number(b), number(a)))
}

func (p *page) phoneWord(n dialled) bool {
	if p.screen.scrub.phoneAfter.in(p.after(n.to, 14)) {
		return true
	}
	before := p.before(n.from, nearWords)
	return p.screen.scrub.phoneBefore.in(before) && !p.screen.scrub.notPhone.in(before)
}
