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
	p.hosts(t)
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
	return p.splitFunc(t, func(r rune) bool { return r < 0x80 && strings.ContainsRune(at, r) })
}

func (p *page) splitFunc(t piece, at func(rune) bool) []piece {
	var parts []piece
	from := t.from
	for i := t.from; i <= t.to; i++ {
		if i == t.to || at(p.signs[i]) {
			if i > from {
				parts = append(parts, piece{from, i})
			}
			from = i + 1
		}
	}
	return parts
}

// trimmed leaves out the signs that end a sentence or stand around emphasis, but for the two colons that an address may begin or end
// with.
func (p *page) trimmed(t piece) piece {
	for t.to > t.from && strings.ContainsRune(".:!?*_…", p.signs[t.to-1]) && (p.signs[t.to-1] != ':' || p.at(t.to-2) != ':') {
		t.to--
	}
	for t.to > t.from && strings.ContainsRune("*_:", p.signs[t.from]) && (p.signs[t.from] != ':' || p.at(t.from+1) != ':') {
		t.from++
	}
	return t
}

func (p *page) raw(t piece) string { return string(p.signs[t.from:t.to]) }

// urls takes what has a scheme.
func (p *page) urls(t piece) {
	for i := t.from; i < t.to; i++ {
		switch {
		case p.signs[i] == ':' && p.at(i+1) == '/' && p.at(i+2) == '/' && i+3 < t.to:
			from := i
			for from > t.from && (asciiAlnum(p.signs[from-1]) || strings.ContainsRune("+.-", p.signs[from-1])) {
				from--
			}
			if from < i {
				p.take(ItemURL, from, p.urlEnd(p.literalEnd(i+3, t.to), t.to))
				return
			}
		case p.folded[i] == 'm' && strings.HasPrefix(string(p.folded[i:min(t.to, i+7)]), "mailto:"):
			p.signs[i+6] = ' ' // what follows is an e-mail address
		}
	}
}

// hosts takes what begins with www. or is a host name with a top-level domain.
func (p *page) hosts(t piece) {
	for _, host := range p.split(t, "\"'`()[]{}<>,;|=*_:@") {
		if host.from > t.from && p.signs[host.from-1] == '@' || p.at(host.to) == '@' {
			continue
		}
		if end, ok := p.hostName(host); ok {
			p.take(ItemURL, host.from, p.urlEnd(end, t.to))
		}
	}
}

// literalEnd is where an address in square brackets ends that begins at i; i where there is none.
func (p *page) literalEnd(i, to int) int {
	if p.at(i) == '[' {
		for end := i + 1; end < to && end < i+mostLiteral; end++ {
			if p.signs[end] == ']' {
				return end + 1
			}
		}
	}
	return i
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

const (
	atext       = ".!#$%&'*+-/=?^_`{|}~" // of RFC 5321 beside letters and digits, and the dot between
	wraps       = "'`{}|"                // those of them that also stand around an address
	mostLocal   = 64                     // RFC 5321 4.5.3.1.1
	mostLiteral = 64
)

// emails takes name@host.tld and name@[address], the name quoted or not.
func (p *page) emails(t piece) {
	for i := t.from + 1; i < t.to-1; i++ {
		if p.signs[i] != '@' {
			continue
		}
		from, to := p.localStart(t, i), i+1
		for to < t.to && (wordRune(p.signs[to]) || strings.ContainsRune("-.", p.signs[to])) {
			to++
		}
		for to > i && !wordRune(p.signs[to-1]) {
			to--
		}
		dot := slices.Index(p.signs[i:to], '.')
		literal := p.literalEnd(i+1, t.to)
		if from < i && (dot > 1 && i+dot+2 < to || literal > i+1) {
			p.take(ItemEmail, from, max(to, literal))
		}
	}
}

// localStart is where the name begins that ends before i; i where there is none. Emphasis and quotation marks around the address are
// no part of it.
func (p *page) localStart(t piece, i int) int {
	if p.signs[i-1] == '"' {
		return p.quoteStart(i - 1)
	}
	start := i
	for start > t.from && (wordRune(p.signs[start-1]) || p.inLocal(t, start-1)) {
		start--
	}
	for from := start; from < i; from++ {
		if wordRune(p.signs[from]) {
			return from
		}
	}
	return start
}

// inLocal reports whether the sign at i belongs to a name: one that wraps doesn't at the beginning or behind an equals sign.
func (p *page) inLocal(t piece, i int) bool {
	if !strings.ContainsRune(atext, p.signs[i]) {
		return false
	}
	before := p.at(i - 1)
	return !strings.ContainsRune(wraps, p.signs[i]) || i > t.from && before != '=' && (wordRune(before) || strings.ContainsRune(atext, before))
}

// quoteStart is where the quoted name begins whose closing mark stands at i; i+1 where none does.
func (p *page) quoteStart(i int) int {
	for from := i - 1; from >= 0 && from > i-mostLocal && p.signs[from] != '\n'; from-- {
		if p.signs[from] == '"' && p.at(from-1) != '\\' {
			return from
		}
	}
	return i + 1
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
	for _, part := range p.splitFunc(t, func(r rune) bool { return r == '/' || unspaced(r) }) {
		part = p.unlabelled(part)
		if !p.addressRange(part) {
			p.addressAndPort(part)
		}
	}
}

// unlabelled leaves out IP: and the like in front of an address, also as mail has it, IPv6:.
func (p *page) unlabelled(t piece) piece {
	if colon := slices.Index(p.folded[t.from:t.to], ':'); colon > 0 {
		switch string(p.folded[t.from : t.from+colon]) {
		case "ip", "ip4", "ip6", "ipv4", "ipv6", "inet", "inet6", "addr", "address", "host", "server":
			t.from += colon + 1
		}
	}
	return t
}

// addressRange takes 10.0.0.1-10.0.0.9.
func (p *page) addressRange(t piece) bool {
	dash := slices.Index(p.signs[t.from:t.to], '-')
	if dash < 0 {
		return false
	}
	first, last := piece{t.from, t.from + dash}, piece{t.from + dash + 1, t.to}
	return p.ip(first) && p.ip(last) && p.take(ItemIP, first.from, first.to) && p.take(ItemIP, last.from, last.to)
}

// addressAndPort takes 10.0.0.1 of 10.0.0.1:80.
func (p *page) addressAndPort(t piece) {
	if colon := slices.Index(p.signs[t.from:t.to], ':'); colon > 0 && !slices.Contains(p.signs[t.from+colon+1:t.to], ':') {
		t.to = t.from + colon
	}
	if p.ip(t) {
		p.take(ItemIP, t.from, t.to)
	}
}

// ip reads every form of RFC 4291 2.2, and the zone of RFC 4007 behind any of them.
func (p *page) ip(t piece) bool {
	if t.to-t.from < 3 || t.to-t.from > mostLiteral {
		return false
	}
	raw, _, _ := strings.Cut(p.raw(t), "%")
	addr, err := netip.ParseAddr(raw)
	if err != nil {
		return false
	}
	if addr.Is4() {
		before := p.before(t.from, 12)
		return !slices.ContainsFunc(versionWords[:], func(word string) bool { return strings.HasSuffix(before, p.screen.folder.words(word)) })
	}
	edge := strings.HasPrefix(raw, "::") || strings.HasSuffix(raw, "::")
	if edge && strings.Count(raw, ":") == 2 && !strings.Contains(raw, ".") { // ::add and 2024:: are none
		return raw == "::1" || strings.ContainsAny(raw, "0123456789") && strings.ContainsAny(raw, "abcdefABCDEF")
	}
	return len(raw) > 4
}

// versionWords stand before four numbers that are no address.
var versionWords = [...]string{"version ", " release ", "版本 ", "バージョン "}
