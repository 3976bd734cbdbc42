package screening

import "strings"

// Redact puts the name of its item in the place of each leak: "Write to [email address]." text is the clean text that the leaks are
// of, in their order. The leaks that it returns say where the names stand in what it returns.
func Redact(text string, leaks []Leak) (string, []Leak) {
	runes, redacted, named := []rune(text), []rune{}, []Leak{}
	at := 0
	for _, leak := range leaks {
		redacted = append(redacted, runes[at:leak.Start]...)
		start := len(redacted)
		redacted = append(redacted, []rune("["+leak.Item.Words()+"]")...)
		named = append(named, Leak{leak.Item, start, len(redacted)})
		at = leak.End
	}
	return string(append(redacted, runes[at:]...)), named
}

// Words is the item's name to people: "email address".
func (i Item) Words() string { return strings.ReplaceAll(string(i), "_", " ") }
