package screening

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// plain reduces markup that the allow-list doesn't name to its words (spec 1.7: plain text, simple emphasis, lists, inline code).
// Headings and quotations lose their signs, code fences go and the code stays as lines, rules and underlines go, and a table's row
// becomes its cells with commas between. No word goes, and a line without such markup stays as it is to the byte.
//
// Links, images, HTML, role markers and chat-template tokens aren't reduced but refused: look finds them. A bare URL is no markup
// but a word (only a page that seeks out links makes one of it, and ours don't); the scrubber keeps it in tier individual.
// Struck-out words count as emphasis: without the signs they would say the opposite. Lines that are merely indented are left alone.
func plain(text string) string {
	if !strings.ContainsAny(text, "#>`~|=-_*") {
		return text
	}
	d := draft{}
	for line := range strings.SplitSeq(text, "\n") {
		d.take(line)
	}
	return strings.TrimFunc(strings.Join(d.lines, "\n"), blank)
}

// draft is a text being reduced, line by line. Nothing in it is markup that isn't allowed, so that to reduce it again changes nothing.
type draft struct {
	lines   []string
	inTable bool
}

// last is the line above; empty where there is none.
func (d *draft) last() string {
	if len(d.lines) == 0 {
		return ""
	}
	return d.lines[len(d.lines)-1]
}

func (d *draft) take(line string) {
	row := cells(unmarked(line))
	switch {
	case len(row) > 0 && !slices.ContainsFunc(row, notDashes) && len(row) == len(cells(d.last())):
		header := cells(d.last())
		d.lines = d.lines[:len(d.lines)-1]
		d.row(header)
		d.inTable = true
	case d.inTable && len(row) > 0:
		d.row(row)
	default:
		d.inTable = false
		d.keep(line)
	}
}

func (d *draft) row(cells []string) {
	d.keep(strings.Join(slices.DeleteFunc(cells, func(cell string) bool { return cell == "" }), ", "))
}

// keep adds a line without its marks, unless nothing but signs was in it. An empty line in a quotation stays one.
func (d *draft) keep(line string) {
	bare := unmarked(line)
	gone := isBlank(bare) && !isBlank(strings.ReplaceAll(line, ">", ""))
	if gone || ruled(bare) || underline(bare) && !isBlank(d.last()) {
		return
	}
	d.lines = append(d.lines, bare)
}

// unmarked is a line without the signs of headings, quotations and code fences at its head, be it an item of a list or not.
func unmarked(line string) string {
	var lead strings.Builder
	for rest := line; ; {
		at := listLead(rest)
		bare := unmark(rest[at:])
		if len(rest) == len(line) && len(bare) == len(rest)-at {
			return line
		}
		lead.WriteString(rest[:at])
		if len(bare) == len(rest)-at {
			return lead.String() + bare
		}
		rest = bare
	}
}

// unmark takes one mark off.
func unmark(s string) string {
	if s == "" {
		return s
	}
	if s[0] == '>' && quotes(s[1:]) {
		return strings.TrimPrefix(s[1:], " ")
	}
	if strings.IndexByte("#`~", s[0]) < 0 {
		return s
	}
	run := len(s) - len(strings.TrimLeft(s, s[:1]))
	rest := s[run:]
	switch {
	case s[0] == '#' && run <= 6 && blankHead(rest):
		return unclosed(strings.TrimFunc(rest, blank))
	case s[0] != '#' && run >= 3 && (s[0] == '~' || !strings.Contains(rest, "`")):
		return strings.TrimFunc(rest, blank)
	}
	return s
}

// unclosed is a heading without the signs with which some close it.
func unclosed(heading string) string {
	open := strings.TrimRight(heading, "#")
	if last, _ := utf8.DecodeLastRuneInString(open); open == "" || blank(last) {
		return strings.TrimRightFunc(open, blank)
	}
	return heading
}

// quotes reports whether a > before s quotes it. Before a number it says greater, and >:( is a face.
func quotes(s string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(s, blank))
	if asciiDigit(first) || first == '=' {
		return false
	}
	head, _ := utf8.DecodeRuneInString(s)
	return blankHead(s) || head == '>' || wordRune(head)
}

// blankHead reports whether s is empty or begins with a blank.
func blankHead(s string) bool {
	head, _ := utf8.DecodeRuneInString(s)
	return s == "" || blank(head)
}

// listLead is how long the blanks and signs of list items at the head of a line are.
func listLead(line string) int {
	at := 0
	for {
		s := strings.TrimLeftFunc(line[at:], blank)
		at = len(line) - len(s)
		sign := len(s) - len(strings.TrimLeft(s, "0123456789"))
		switch {
		case sign == 0 && s != "" && strings.IndexByte("-*+", s[0]) >= 0:
		case sign > 0 && sign < 10 && sign < len(s) && (s[sign] == '.' || s[sign] == ')'):
		default:
			return at
		}
		if s = s[sign+1:]; s == "" || !blankHead(s) {
			return at
		}
		at = len(line) - len(s)
	}
}

// ruled is three or more of one sign, with or without blanks.
func ruled(line string) bool {
	signs := strings.Join(strings.FieldsFunc(line, blank), "")
	return len(signs) > 2 && strings.IndexByte("-*_", signs[0]) >= 0 && strings.Trim(signs, signs[:1]) == ""
}

// underline is what makes a heading of the line above.
func underline(line string) bool {
	signs := strings.TrimFunc(line, blank)
	return len(signs) > 1 && (strings.Trim(signs, "=") == "" || strings.Trim(signs, "-") == "")
}

// cells are what stands between the bars of a table's row; none where there is no bar.
func cells(line string) []string {
	line = strings.TrimFunc(line, blank)
	var all []string
	from := 0
	for i := range len(line) {
		if line[i] == '|' && (i == 0 || line[i-1] != '\\') {
			all = append(all, strings.TrimFunc(line[from:i], blank))
			from = i + 1
		}
	}
	if all == nil {
		return nil
	}
	if line[0] == '|' {
		all = all[1:]
	}
	if from < len(line) {
		all = append(all, strings.TrimFunc(line[from:], blank))
	}
	return all
}

// notDashes is false for what stands between the bars of the line under a table's header: --- or :-:.
func notDashes(cell string) bool {
	cell = strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":")
	return cell == "" || strings.Trim(cell, "-") != ""
}

func isBlank(s string) bool { return strings.TrimFunc(s, blank) == "" }
