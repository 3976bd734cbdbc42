package screening

import "strings"

// money takes amounts in a sentence that speaks of a program, an organisation, or of a program's means.
func (p *page) money(known Known) {
	for from := 0; from < len(p.signs); {
		to := from
		for to < len(p.signs) && !p.sentenceEnds(to) {
			to++
		}
		if s := (piece{from, to}); p.tied(s) {
			p.amounts(s)
		}
		from = to + 1
	}
}

func (p *page) sentenceEnds(i int) bool {
	switch p.signs[i] {
	case '\n', ';':
		return true
	case '.', '!', '?':
		return i+1 == len(p.signs) || p.signs[i+1] == ' ' || p.signs[i+1] == '\n'
	}
	return false
}

func (p *page) tied(s piece) bool {
	for _, l := range p.found {
		if (l.Item == ItemProgram || l.Item == ItemOrganisation || l.Item == ItemRef) && l.Start < s.to && l.End > s.from {
			return true
		}
	}
	return p.screen.scrub.programWords.in(p.between(s.from, s.to))
}

// amounts takes a number with a currency in front or behind.
func (p *page) amounts(s piece) {
	for i := s.from; i < s.to; i++ {
		if !asciiDigit(p.signs[i]) || i > 0 && (asciiDigit(p.signs[i-1]) || i > 1 && strings.ContainsRune(".,", p.signs[i-1]) && asciiDigit(p.signs[i-2])) {
			continue
		}
		from, to := i, i
		for to < s.to && (asciiDigit(p.signs[to]) || strings.ContainsRune(".,' ", p.signs[to]) && asciiDigit(p.at(to+1))) {
			to++
		}
		to = p.magnitude(to, s.to)
		before, signed := p.currencyBefore(from)
		after, named := p.currencyAfter(to, s.to)
		if signed || named {
			p.take(ItemProgramMoney, before, after)
		}
		i = to - 1
	}
}

// magnitude: 5k, 5 million.
func (p *page) magnitude(i, to int) int {
	start := i
	if p.at(i) == ' ' {
		i++
	}
	word := i
	for i < to && wordRune(p.signs[i]) {
		i++
	}
	if p.screen.scrub.magnitudes[string(p.folded[word:i])] {
		return i
	}
	return start
}

func (p *page) currencyBefore(i int) (from int, ok bool) {
	from = i
	if p.at(from-1) == ' ' {
		from--
	}
	if strings.ContainsRune("$€£¥₹₽₺₩₫₴₪฿₦₱", p.at(from-1)) && from > 0 {
		from--
		for from > 0 && asciiLetter(p.signs[from-1]) && from > i-5 {
			from--
		}
		return from, true
	}
	word := from
	for word > 0 && wordRune(p.signs[word-1]) {
		word--
	}
	if p.screen.scrub.currencies[string(p.folded[word:from])] {
		return word, true
	}
	return i, false
}

func (p *page) currencyAfter(i, to int) (end int, ok bool) {
	end = i
	if p.at(end) == ' ' {
		end++
	}
	if end < to && strings.ContainsRune("$€£¥₹₽₺₩₫₴₪฿₦₱円元원", p.signs[end]) {
		return end + 1, true
	}
	word := end
	for end < to && wordRune(p.signs[end]) {
		end++
	}
	if p.screen.scrub.currencies[string(p.folded[word:end])] {
		return end, true
	}
	return i, false
}
