package screening

import (
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// tokens looks at what stands between blanks: addresses and ids that hold no blank.
func (p *page) tokens() {
	p.spelledEmails()
	start := -1
	for i := range len(p.signs) + 1 {
		if i == len(p.signs) || unicode.IsSpace(p.signs[i]) {
			if start >= 0 {
				p.token(piece{start, i})
			}
			start = -1
		} else if start < 0 {
			start = i
		}
	}
	p.namedSecrets()
	p.namedUsers()
}

func (p *page) token(t piece) {
	p.privateKey(t)
	p.urls(t)
	p.emails(t)
	for _, part := range p.split(t, "\"'`()[]{}<>,;|=") {
		part = p.trimmed(part)
		p.uuid(part)
		p.network(part)
		p.filePath(part)
		p.secret(part)
	}
	p.handles(t)
}

// split cuts a token at any of the signs.
func (p *page) split(t piece, at string) []piece {
	var parts []piece
	from := t.from
	for i := t.from; i <= t.to; i++ {
		if i == t.to || p.signs[i] < 0x80 && strings.ContainsRune(at, p.signs[i]) {
			if i > from {
				parts = append(parts, piece{from, i})
			}
			from = i + 1
		}
	}
	return parts
}

// trimmed leaves out the signs that end a sentence or stand around emphasis.
func (p *page) trimmed(t piece) piece {
	for t.to > t.from && strings.ContainsRune(".:!?*_", p.signs[t.to-1]) {
		t.to--
	}
	for t.to > t.from && strings.ContainsRune("*_:", p.signs[t.from]) {
		t.from++
	}
	return t
}

func (p *page) raw(t piece) string { return string(p.signs[t.from:t.to]) }

// urls takes what has a scheme, begins with www. or is a host name with a top-level domain.
func (p *page) urls(t piece) {
	for i := t.from; i < t.to; i++ {
		switch {
		case p.signs[i] == ':' && p.at(i+1) == '/' && p.at(i+2) == '/' && i+3 < t.to:
			from := i
			for from > t.from && (asciiAlnum(p.signs[from-1]) || strings.ContainsRune("+.-", p.signs[from-1])) {
				from--
			}
			if from < i {
				p.take(ItemURL, from, p.urlEnd(i+3, t.to))
				return
			}
		case p.folded[i] == 'm' && strings.HasPrefix(string(p.folded[i:min(t.to, i+7)]), "mailto:"):
			p.signs[i+6] = ' ' // what follows is an e-mail address
		}
	}
	for _, host := range p.split(t, "\"'`()[]{}<>,;|=*_:@") {
		if host.from > t.from && p.signs[host.from-1] == '@' || p.at(host.to) == '@' {
			continue
		}
		if end, ok := p.hostName(host); ok {
			p.take(ItemURL, host.from, p.urlEnd(end, t.to))
		}
	}
}

// urlEnd is where a URL ends that goes on at i: before a closing sign or the punctuation of the sentence.
func (p *page) urlEnd(i, to int) int {
	for i < to && !strings.ContainsRune("\"'`<>|{}[]", p.signs[i]) && (p.signs[i] != ')' || slices.Contains(p.signs[:i], '(')) {
		i++
	}
	for strings.ContainsRune(".,;:!?)*_", p.signs[i-1]) {
		i--
	}
	return i
}

// hostName reads labels with dots between, the last one a top-level domain, and says where they end: there, or before a path.
func (p *page) hostName(t piece) (end int, ok bool) {
	for end = t.from; end < t.to && p.signs[end] != '/' && p.signs[end] != '?' && p.signs[end] != '#'; {
		end++
	}
	host := strings.Trim(strings.ToLower(string(p.signs[t.from:end])), ".!")
	labels := strings.Split(host, ".")
	if len(labels) < 2 || slices.ContainsFunc(labels, func(l string) bool { return !hostLabel(l) }) {
		return 0, false
	}
	end = t.from + len([]rune(host))
	top := labels[len(labels)-1]
	switch {
	case labels[0] == "www" && len(labels) > 2:
		return end, true
	case p.screen.scrub.topLevel[top]:
		return end, len([]rune(labels[len(labels)-2])) > 1
	case p.screen.scrub.topLevelOrFile[top]: // main.rs is a file, docs.rs/page a place
		return end, len(labels) > 2 || p.at(end) == '/'
	}
	return 0, false
}

func hostLabel(l string) bool {
	for _, r := range l {
		if r != '-' && !wordRune(r) {
			return false
		}
	}
	return l != "" && l[0] != '-' && l[len(l)-1] != '-'
}

const localSigns = "._%+-~&/=#$*"

// emails takes name@host.tld.
func (p *page) emails(t piece) {
	for i := t.from + 1; i < t.to-1; i++ {
		if p.signs[i] != '@' {
			continue
		}
		from, to := i, i+1
		for from > t.from && (wordRune(p.signs[from-1]) || strings.ContainsRune(localSigns, p.signs[from-1])) {
			from--
		}
		for from < i && !wordRune(p.signs[from]) {
			from++
		}
		for to < t.to && (wordRune(p.signs[to]) || strings.ContainsRune("-.", p.signs[to])) {
			to++
		}
		for to > i && !wordRune(p.signs[to-1]) {
			to--
		}
		dot := slices.Index(p.signs[i:to], '.')
		literal := i+1 < t.to && p.signs[i+1] == '['
		if from < i && (dot > 1 && i+dot+2 < to || literal) {
			p.take(ItemEmail, from, max(to, i+1))
		}
	}
}

// spelledEmails takes addresses whose signs are written out: ada at example dot org.
func (p *page) spelledEmails() {
	for i := 2; i+2 < len(p.words); i++ {
		if dot := p.text(p.words[i+1]); p.text(p.words[i-1]) != "at" || dot != "dot" && p.at(p.words[i].to) != '.' {
			continue
		}
		bracketed := strings.ContainsRune("([{<", p.at(p.words[i-1].from-1))
		if p.text(p.words[i+1]) == "dot" || bracketed && p.words[i+1].from == p.words[i].to+1 {
			last := i + 2
			if p.text(p.words[i+1]) != "dot" {
				last = i + 1
			}
			p.take(ItemEmail, p.words[i-2].from, p.words[last].to)
		}
	}
}

// handles takes @name.
func (p *page) handles(t piece) {
	for i := t.from; i+2 < t.to; i++ {
		if p.signs[i] != '@' || i > t.from && wordRune(p.signs[i-1]) {
			continue
		}
		to := i + 1
		for to < t.to && (wordRune(p.signs[to]) || strings.ContainsRune("_.-@", p.signs[to])) {
			to++
		}
		for to > i && !wordRune(p.signs[to-1]) && p.signs[to-1] != '_' {
			to--
		}
		if to-i > 2 && slices.ContainsFunc(p.signs[i+1:to], unicode.IsLetter) && !asciiDigit(p.signs[i+1]) {
			p.take(ItemHandle, i, to)
		}
	}
}

// uuid takes 8-4-4-4-12 hex digits, or 32 of them in braces or after urn:uuid:.
func (p *page) uuid(t piece) {
	for from := t.from; from+36 <= t.to; from++ {
		if from > t.from && wordRune(p.signs[from-1]) {
			continue
		}
		if p.shape(from, "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh") && !wordRune(p.at(from+36)) {
			p.take(ItemUUID, from, from+36)
		}
	}
}

// shape reports whether the page reads so at from: d a digit, h a hex digit, a a letter, x either; every other sign itself.
func (p *page) shape(from int, shape string) bool {
	for i, want := range shape {
		r := p.at(from + i)
		switch want {
		case 'd':
			if !asciiDigit(r) {
				return false
			}
		case 'h':
			if !hexDigit(r) {
				return false
			}
		case 'a':
			if !asciiLetter(r) {
				return false
			}
		case 'x':
			if !asciiAlnum(r) {
				return false
			}
		default:
			if r != want {
				return false
			}
		}
	}
	return true
}

// network takes IP and MAC addresses.
func (p *page) network(t piece) {
	for _, shape := range [...]string{"hh:hh:hh:hh:hh:hh", "hh-hh-hh-hh-hh-hh", "hhhh.hhhh.hhhh"} {
		if t.to-t.from == len(shape) && p.shape(t.from, shape) && strings.ContainsAny(p.raw(t), "0123456789") {
			p.take(ItemMAC, t.from, t.to)
			return
		}
	}
	for _, part := range p.split(t, "/") {
		for ; part.to > part.from; part.to-- {
			if p.ip(part) {
				p.take(ItemIP, part.from, part.to)
				break
			}
			colon := slices.Index(p.signs[part.from:part.to], ':')
			if colon < 0 || slices.Contains(p.signs[part.from+colon+1:part.to], ':') { // 10.0.0.1:80
				break
			}
			part.to = part.from + colon + 1
		}
	}
}

func (p *page) ip(t piece) bool {
	if t.to-t.from < 3 || t.to-t.from > 60 {
		return false
	}
	addr, err := netip.ParseAddr(p.raw(t))
	if err != nil {
		return false
	}
	if addr.Is4() {
		return !strings.HasSuffix(p.before(t.from, 12), "version ") && !strings.HasSuffix(p.before(t.from, 12), " release ")
	}
	return strings.Count(p.raw(t), ":") > 1 && t.to-t.from > 4 || p.raw(t) == "::1"
}
