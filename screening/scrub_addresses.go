package screening

import (
	"strings"
	"unicode"
)

// addresses takes postal addresses in the forms that can be told without knowing places: a street with its number, boxes and
// apartments, post codes of a telling form, and what a word like address or ZIP introduces. A town's name alone is not found.
func (p *page) addresses() {
	for i, w := range p.words {
		if p.taken[w.from] {
			continue
		}
		text := p.text(w)
		switch v := p.screen.scrub; {
		case v.streetAfter[text]: // 14 Crown Street
			p.numberThenStreet(i)
		case v.streetBefore[text]: // rue de la Paix 12, 12 rue de la Paix
			p.streetThenNumber(i)
			p.numberThenNames(i)
		case v.box[text]: // Apt. 762
			p.boxNumber(i)
		case v.zip[text]:
			p.labelledCode(i)
		case p.capital(w) && v.streetEnding(text): // Koskikatu 25
			p.houseNumber(i, i)
		}
		p.postCode(i)
		p.eastAsian(w)
	}
	p.afterAddressWord()
}

// capital also holds for letters that have no case, and for a page without any capital.
func (p *page) capital(w piece) bool { return !unicode.IsLower(p.signs[w.from]) }

// near reports whether word i+1 follows word i on the same line, with at most a comma, a full stop or a hyphen between.
func (p *page) near(i int) bool {
	if i < 0 || i+1 >= len(p.words) {
		return false
	}
	between := string(p.signs[p.words[i].to:p.words[i+1].from])
	return len(between) < 4 && strings.Trim(between, " ,.-'/") == ""
}

// house reports whether a word can be the number of a house: 7, 221b, 1394.
func (p *page) house(i int) bool {
	if i < 0 || i >= len(p.words) {
		return false
	}
	n := strings.TrimRight(string(p.signs[p.words[i].from:p.words[i].to]), "abcdefABCDEF")
	return n != "" && len(n) < 7 && p.words[i].to-p.words[i].from-len(n) < 2 && !strings.ContainsFunc(n, func(r rune) bool { return !asciiDigit(r) })
}

// numberThenStreet: from the number of the house over at most four names, each with a capital, to the word for a street.
func (p *page) numberThenStreet(i int) {
	named := p.capital(p.words[i])
	for j := i - 1; j >= 0 && j >= i-5 && p.near(j); j-- {
		if p.house(j) && j < i-1 && named {
			p.takeAddress(j, i)
			return
		}
		if !p.capital(p.words[j]) && !p.screen.scrub.particle[p.text(p.words[j])] {
			named = p.screen.scrub.livesAt.in(p.before(p.words[j].from, nearWords))
		}
	}
	if named && p.near(i) && p.house(i+1) && i > 0 && p.near(i-1) && p.capital(p.words[i-1]) { // Lange Gasse 7
		p.takeAddress(i-1, i+1)
	}
}

// streetThenNumber: over at most five names to the number.
func (p *page) streetThenNumber(i int) {
	names := 0
	for j := i; j < i+6 && p.near(j); j++ {
		next := p.words[j+1]
		switch {
		case p.house(j+1) && names > 0:
			if p.closes(next.to) {
				p.takeAddress(i, j+1)
			}
			return
		case p.capital(next) || unspaced(p.folded[next.from]):
			names++
		case !p.screen.scrub.particle[p.text(next)]:
			return
		}
	}
}

// closes reports whether no ordinary word follows: via Roma 12, not via Slack 3 times.
func (p *page) closes(i int) bool {
	for i < len(p.signs) && (p.signs[i] == ' ') {
		i++
	}
	return i >= len(p.signs) || !unicode.IsLower(p.signs[i])
}

// numberThenNames: 12, rue de la Paix.
func (p *page) numberThenNames(i int) {
	if !p.near(i-1) || !p.house(i-1) {
		return
	}
	last := i
	for j := i; j < i+5 && p.near(j); j++ {
		if next := p.words[j+1]; p.capital(next) && !asciiDigit(p.signs[next.from]) {
			last = j + 1
		} else if !p.screen.scrub.particle[p.text(next)] {
			break
		}
	}
	if last > i {
		p.takeAddress(i-1, last)
	}
}

// houseNumber takes a street from word first to last with the number behind it, and one in front if there is.
func (p *page) houseNumber(first, last int) {
	if p.near(last) && p.house(last+1) {
		if p.near(first-1) && p.house(first-1) {
			first--
		}
		p.takeAddress(first, last+1)
	}
}

func (p *page) boxNumber(i int) {
	if !p.near(i) || !p.digitIn(p.words[i+1]) || p.words[i+1].to-p.words[i+1].from > 6 {
		return
	}
	first := i
	for first > 0 && p.near(first-1) && p.screen.scrub.boxHead[p.text(p.words[first-1])] { // P.O.
		first--
	}
	if p.screen.scrub.boxAlone[p.text(p.words[i])] || first < i || p.addressBeside(p.words[i].from) {
		p.takeAddress(first, i+1)
	}
}

func (p *page) addressBeside(i int) bool {
	for _, l := range p.found {
		if l.Item == ItemAddress && l.End <= i && i-l.End < 8 {
			return true
		}
	}
	return false
}

// labelledCode: ZIP: 394 13.
func (p *page) labelledCode(i int) {
	last := i
	for j := i; j < i+4 && j+1 < len(p.words) && p.words[j+1].from-p.words[j].to < 4; j++ {
		if next := p.words[j+1]; p.digitIn(next) && next.to-next.from < 8 {
			last = j + 1
		} else if last > i || !p.screen.scrub.codeWord[p.text(next)] {
			break
		}
	}
	if last > i {
		first := i + 1
		for !p.digitIn(p.words[first]) {
			first++
		}
		p.takeAddress(first, last)
	}
}

// postCode takes codes whose form tells them: of Britain, Canada, the Netherlands, and a state of the USA with its ZIP.
func (p *page) postCode(i int) {
	if !p.near(i) {
		return
	}
	w, next := p.words[i], p.words[i+1]
	a, b := string(p.signs[w.from:w.to]), string(p.signs[next.from:next.to])
	switch {
	case len(b) == 3 && readsAs(b, "daa") && upperASCII(b) && !strings.ContainsAny(b[1:], "CIKMOV") && outward(a):
	case len(a) == 3 && len(b) == 3 && readsAs(a, "ada") && readsAs(b, "dad") && upperASCII(a+b) && strings.IndexByte("ABCEGHJKLMNPRSTVXY", a[0]) >= 0:
	case len(a) == 4 && len(b) == 2 && readsAs(a, "dddd") && readsAs(b, "aa") && upperASCII(b) && i+2 < len(p.words) && p.near(i+1) && p.capital(p.words[i+2]) && !p.digitIn(p.words[i+2]):
	case len(a) == 2 && p.screen.scrub.states[a] && len(b) == 5 && readsAs(b, "ddddd"):
	default:
		return
	}
	p.takeAddress(i, i+1)
}

func upperASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !asciiDigit(r) && (r < 'A' || r > 'Z') })
}

// outward is the first half of a British post code.
func outward(s string) bool {
	for _, shape := range [...]string{"ad", "add", "aad", "aadd", "ada", "aada"} {
		if len(s) == len(shape) && upperASCII(s) && readsAs(s, shape) {
			return true
		}
	}
	return false
}

// eastAsian takes addresses that are written without blanks: a street and a number in Chinese, a block in Japanese, a road in Korean.
func (p *page) eastAsian(w piece) {
	for i := w.from + 1; i < w.to; i++ {
		r := p.signs[i]
		ends := (r == '号' || r == '號' || r == '弄') && asciiDigit(p.signs[i-1]) || (r == '丁' || r == '番') && asciiDigit(p.signs[i-1]) ||
			(r == '로' || r == '길') && (asciiDigit(p.at(i+1)) || p.at(i+1) == ' ' && asciiDigit(p.at(i+2)))
		if !ends {
			continue
		}
		from := max(w.from, i-25)
		if r != '로' && r != '길' && !strings.ContainsAny(string(p.signs[from:i]), "省市区區县縣路街道巷都府県町村") {
			continue
		}
		to := i + 1
		for to < len(p.signs) && (asciiDigit(p.signs[to]) || strings.ContainsRune("-目番地号室楼層층호 ", p.signs[to]) && to < i+16) {
			to++
		}
		for p.signs[to-1] == ' ' {
			to--
		}
		p.take(ItemAddress, from, to)
		return
	}
}

// afterAddressWord takes what follows "address:" or "lives at" and begins with a number, up to the end of the line or sentence.
func (p *page) afterAddressWord() {
	for i, w := range p.words {
		if !p.digitIn(w) || p.taken[w.from] || w.to-w.from > 6 || i+1 >= len(p.words) || !p.near(i) || p.digitIn(p.words[i+1]) || !unicode.IsUpper(p.signs[p.words[i+1].from]) {
			continue
		}
		if !p.screen.scrub.livesAt.in(p.before(w.from, nearWords)) {
			continue
		}
		to := w.to
		for to < len(p.signs) && !p.sentenceEnds(to) && !p.taken[to] {
			to++
		}
		for to > w.to && !wordRune(p.signs[to-1]) {
			to--
		}
		p.take(ItemAddress, w.from, to)
	}
}

func (p *page) takeAddress(first, last int) {
	from, to := p.words[first].from, p.words[last].to
	for from < to && p.taken[from] { // what was taken before is the front of the same address
		from++
	}
	p.take(ItemAddress, from, to)
}
