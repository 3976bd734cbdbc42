package screening

import "strings"

// births takes a date that stands beside a word for being born.
func (p *page) births() {
	for i, w := range p.words {
		if !p.screen.scrub.born[p.text(w)] && !p.bornPhrase(i) {
			continue
		}
		from, to := max(0, w.from-nearWords), min(len(p.signs), w.to+nearWords+10)
		for j := range p.words {
			if p.words[j].from < from || p.words[j].to > to {
				continue
			}
			if d, ok := p.date(j); ok && p.take(ItemBirthDate, d.from, d.to) {
				break
			}
		}
	}
}

// bornPhrase: words that speak of birth together only.
func (p *page) bornPhrase(i int) bool {
	w := p.words[i]
	return i > 0 && p.screen.scrub.born[p.text(p.words[i-1])+" "+p.text(w)] ||
		(unspaced(p.folded[w.from]) || unspaced(p.folded[w.to-1])) && p.screen.scrub.bornInside.in(p.text(w))
}

// date reads a date at word i, with a year or without.
func (p *page) date(i int) (piece, bool) {
	from := p.words[i].from
	if p.screen.scrub.datePart[p.text(p.words[i])] {
		return piece{}, false
	}
	var parts []string
	var ends []int
	for j := i; j < len(p.words) && j < i+5 && len(parts) < 3; j++ {
		w := p.words[j]
		if j > i && w.from > p.words[j-1].to+2 {
			break
		}
		text := p.text(w)
		if p.screen.scrub.datePart[text] { // "of", "de"
			continue
		}
		part, ok := p.dayOrMonth(text)
		if !ok {
			break
		}
		parts, ends = append(parts, part), append(ends, w.to)
	}
	if len(parts) > 2 && dateShape(parts[:3]) {
		return piece{from, ends[2]}, true
	}
	if len(parts) > 1 && (parts[0] == "month" && isDay(parts[1]) || parts[1] == "month" && isDay(parts[0])) {
		return piece{from, ends[1]}, true
	}
	if len(parts) > 0 && isYear(parts[0]) && len(parts[0]) == 4 {
		return piece{from, ends[0]}, true
	}
	return p.cjkDate(p.words[i])
}

// dayOrMonth reads a number, a number with an ending (3rd, 1er), or the name of a month.
func (p *page) dayOrMonth(text string) (string, bool) {
	if p.screen.scrub.months[text] {
		return "month", true
	}
	n := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	if n == "" || len(text)-len(n) > 2 || len(n) > 4 && len(n) != 8 || strings.ContainsFunc(n, func(r rune) bool { return !asciiDigit(r) }) {
		return "", false
	}
	return n, true
}

func isDay(s string) bool { return s != "month" && len(s) < 3 && number(s) >= 1 && number(s) <= 31 }

func isYear(s string) bool {
	return s != "month" && (len(s) == 4 && (s[:2] == "19" || s[:2] == "20" || s[:2] == "18") || len(s) == 2)
}

func dateShape(d []string) bool {
	months := 0
	for _, part := range d {
		if part == "month" {
			months++
		}
	}
	switch {
	case months > 1:
		return false
	case months == 1:
		return (isDay(d[0]) || isDay(d[1])) && isYear(d[2]) || isYear(d[0]) && isDay(d[2])
	}
	return isDay(d[0]) && isDay(d[1]) && isYear(d[2]) || len(d[0]) == 4 && isYear(d[0]) && isDay(d[1]) && isDay(d[2])
}

// cjkDate: 1990年5月3日, inside a word.
func (p *page) cjkDate(w piece) (piece, bool) {
	for i := w.from + 1; i < w.to; i++ {
		if (p.signs[i] != '月' && p.signs[i] != '월') || !asciiDigit(p.signs[i-1]) {
			continue
		}
		from, to := i, i+1
		for from > w.from && (asciiDigit(p.signs[from-1]) || p.signs[from-1] == '年' || p.signs[from-1] == '년') {
			from--
		}
		for to < w.to && (asciiDigit(p.signs[to]) || strings.ContainsRune("日号일", p.signs[to])) {
			to++
		}
		return piece{from, to}, true
	}
	return piece{}, false
}
