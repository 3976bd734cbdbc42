package screening

import (
	"strings"
	"unicode"
)

// secret takes what begins as the tokens of well-known makers do, and what looks drawn by lot.
func (p *page) secret(t piece) {
	text := p.raw(t)
	for _, s := range p.screen.scrub.prefixes {
		if strings.HasPrefix(text, s.Head) && len(text) >= len(s.Head)+s.Rest && tokenSigns(text[len(s.Head):]) {
			p.take(ItemSecret, t.from, t.to)
			return
		}
	}
	if drawn(text) && !p.hashBefore(t.from) {
		p.take(ItemSecret, t.from, t.to)
	}
}

func tokenSigns(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !asciiAlnum(r) && !strings.ContainsRune("-_./+=:~", r) })
}

const (
	drawnLength = 20 // signs; shorter ones are found by the word in front of them
	drawnHex    = 32
)

// drawn reports whether a token looks like letters and digits drawn by lot: long, of one piece, and changing between kinds of sign
// as words and numbers don't.
func drawn(s string) bool {
	bare := strings.TrimRight(s, "=")
	if len(bare) < drawnLength || strings.ContainsFunc(bare, func(r rune) bool { return !asciiAlnum(r) && !strings.ContainsRune("-_+/", r) }) {
		return false
	}
	hex, digits, uppers, lowers, turns := true, 0, 0, 0, 0
	last := 0
	for _, r := range bare {
		kind := 0
		switch {
		case asciiDigit(r):
			digits, kind = digits+1, 1
		case 'a' <= r && r <= 'z':
			lowers, kind = lowers+1, 2
		case 'A' <= r && r <= 'Z':
			uppers, kind = uppers+1, 3
		}
		hex = hex && hexDigit(r)
		if kind != last {
			turns++
		}
		last = kind
	}
	if hex {
		return len(bare) >= drawnHex && digits > 0 && uppers+lowers > 0
	}
	return digits > 1 && uppers > 1 && lowers > 1 && turns*4 >= len(bare) || digits > 2 && uppers+lowers > 2 && turns*3 >= len(bare)
}

// hashBefore: a digest of something public is no secret.
func (p *page) hashBefore(from int) bool {
	before := p.before(from, 24)
	for _, word := range [...]string{" commit ", " sha ", " sha1 ", " sha256 ", " md5 ", " hash ", " checksum ", " digest ", " revision "} {
		if strings.Contains(before, word) {
			return true
		}
	}
	return false
}

// privateKey takes the whole block between BEGIN and END.
func (p *page) privateKey(t piece) {
	if !strings.Contains(p.raw(t), "-----BEGIN") {
		return
	}
	rest := string(p.signs[t.from:])
	head := strings.Index(rest, "PRIVATE KEY")
	if head < 0 || head > 60 {
		return
	}
	to := len(p.signs)
	if end := strings.Index(rest, "-----END"); end >= 0 {
		to = t.from + len([]rune(rest[:end]))
		for to < len(p.signs) && p.signs[to] != '\n' {
			to++
		}
	}
	p.take(ItemSecret, t.from, to)
}

// namedSecrets takes what a word for a secret introduces: password: x, the PIN is x, token=x.
func (p *page) namedSecrets() {
	for i, w := range p.words {
		length, strong := p.screen.scrub.secretNamed(p, i)
		if length == 0 || i+length > len(p.words) {
			continue
		}
		w.to = p.words[i+length-1].to
		from, sure := p.value(w.to, p.screen.scrub.is)
		if from == 0 {
			continue
		}
		to := from
		for to < len(p.signs) && !unicode.IsSpace(p.signs[to]) && !strings.ContainsRune("\"'`,;<>", p.signs[to]) {
			to++
		}
		for to > from && strings.ContainsRune(".!?)", p.signs[to-1]) {
			to--
		}
		if value := string(p.signs[from:to]); to-from > 2 && (telling(value) || sure && strong && !p.screen.scrub.ordinary[strings.ToLower(value)]) {
			p.take(ItemSecret, from, to)
		}
	}
}

// value is where what is said to be something begins, after a colon, an equals sign or a word for is; 0 where nothing is said.
func (p *page) value(i int, is map[string]bool) (from int, sure bool) {
	start := i
	for i < len(p.signs) && i < start+4 && strings.ContainsRune(" \t\"'`*:=>-", p.signs[i]) {
		sure = sure || p.signs[i] == ':' || p.signs[i] == '='
		i++
	}
	if sure {
		return p.pastBlanks(i), true
	}
	for w := i; i < len(p.signs) && wordRune(p.signs[i]); i++ {
		if word := string(p.folded[w : i+1]); is[word] && !wordRune(p.at(i+1)) {
			return p.pastBlanks(i + 1), true
		}
	}
	return 0, false
}

func (p *page) pastBlanks(i int) int {
	for i < len(p.signs) && strings.ContainsRune(" \t\n\"'`*:=", p.signs[i]) {
		i++
	}
	return i
}

// telling: a word of a language has no digit in it and no sign.
func telling(s string) bool {
	digit := strings.ContainsFunc(s, asciiDigit)
	return digit && len(s) > 3 || strings.ContainsFunc(s, func(r rune) bool { return strings.ContainsRune("!#$%^&*+=_~", r) }) && len(s) > 5
}

// namedUsers takes what is said to be the id of a user.
func (p *page) namedUsers() {
	for i, w := range p.words {
		if i+1 >= len(p.words) {
			break
		}
		switch name, next := p.text(w), p.text(p.words[i+1]); {
		case p.screen.scrub.user[name] && (next == "id" || next == "ids" || next == "name" && name == "user"):
			w.to = p.words[i+1].to
		case name == "userid", name == "username", name == "uid", name == "login", name == "memberid":
		case p.screen.scrub.user[name] && w.to+1 == p.words[i+1].from && (p.at(w.to) == '_' || p.at(w.to) == '-') && strings.ContainsFunc(next, asciiDigit):
			p.take(ItemUserID, w.from, p.words[i+1].to)
			continue
		default:
			continue
		}
		from, sure := p.value(w.to, p.screen.scrub.is)
		if !sure {
			if from = p.pastBlanks(w.to); !asciiAlnum(p.at(from)) {
				continue
			}
		}
		to := from
		for to < len(p.signs) && (wordRune(p.signs[to]) || strings.ContainsRune("_.-:", p.signs[to]) && wordRune(p.at(to+1))) {
			to++
		}
		if value := string(p.signs[from:to]); to-from > 1 && (sure && !p.screen.scrub.ordinary[strings.ToLower(value)] || strings.ContainsFunc(value, asciiDigit)) {
			p.take(ItemUserID, from, to)
		}
	}
}
