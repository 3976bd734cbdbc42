package screening

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// turns is a way of writing a conversation that never took place: who asks and who answers, and how often somebody must ask
// (with an answer between) before it is one.
type turns struct {
	id          string
	ask, answer []string
	asked       int
	open        bool // the last question waits for its answer: who writes down what was asked and answered leaves none open
}

func newTurns(doc *document, f *folder) (all []turns, labels map[string]bool) {
	labels = map[string]bool{}
	for _, t := range doc.Turns {
		made := turns{id: t.ID, asked: t.Asked, open: t.Open, ask: foldAll(f, t.Ask), answer: foldAll(f, t.Answer)}
		for _, label := range append(slices.Clone(made.ask), made.answer...) {
			labels[label] = true
		}
		all = append(all, made)
	}
	return all, labels
}

func foldAll(f *folder, labels []string) []string {
	folded := make([]string, len(labels))
	for i, label := range labels {
		folded[i] = f.fold(label).text
	}
	return folded
}

type label struct {
	name       string
	start, end int
}

// readTurns looks for fake dialogue: a label and a colon, asking, answering, and asking again.
func (s *Screen) readTurns(c *collector, v view) {
	var spoken []label
	for i := range len(v.text) {
		if v.text[i] == ':' {
			if l := labelBefore(v.text, i); s.labels[l.name] {
				spoken = append(spoken, l)
			}
		}
	}
	if len(spoken) < 2 {
		return
	}
	for _, t := range s.turns {
		if start, end, ok := t.in(spoken); ok && (!t.open || t.leavesOpen(spoken, v.text)) {
			from, to := v.span(start, end)
			c.add(t.id, KindTurns, false, from, to)
		}
	}
}

// in finds ask, answer and, where it must be asked twice, ask.
func (t *turns) in(spoken []label) (start, end int, ok bool) {
	asked, answered := 0, 0
	for _, l := range spoken {
		switch {
		case slices.Contains(t.ask, l.name) && asked == answered:
			if asked == 0 {
				start = l.start
			}
			asked++
		case slices.Contains(t.answer, l.name) && asked > answered:
			answered++
		default:
			continue
		}
		end = l.end
		if asked >= t.asked && answered > 0 {
			return start, end, true
		}
	}
	return 0, 0, false
}

// leavesOpen reports whether the conversation ends with a question, or with an answer's label and nothing behind it.
func (t *turns) leavesOpen(spoken []label, text string) bool {
	for i := len(spoken) - 1; i >= 0; i-- {
		switch {
		case slices.Contains(t.answer, spoken[i].name):
			rest := strings.Trim(text[spoken[i].end:], " \n.*_…")
			return rest == "" || strings.HasSuffix(rest, "?")
		case slices.Contains(t.ask, spoken[i].name):
			return true
		}
	}
	return false
}

// labelBefore is the word in front of the colon at i, with at most one space or emphasis between.
func labelBefore(text string, i int) label {
	end := i
	for end > 0 && strings.IndexByte(" *_)]", text[end-1]) >= 0 {
		end--
	}
	for end > 0 && '0' <= text[end-1] && text[end-1] <= '9' { // Q1: A1:
		end--
	}
	start := end
	for start > 0 && (letter(text[start-1]) || text[start-1] == '-') && end-start < 40 {
		start--
	}
	for start < end && !utf8.RuneStart(text[start]) {
		start++
	}
	return label{text[start:end], start, i + 1}
}

// recalled finds the frame of a recalled block, <<<memory: (spec 3.4), or what may pass for it: two or more brackets and the
// word, whatever signs and spaces stand between, and a colon unless there are three brackets.
func recalled(text string) (start, end int, ok bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != '<' {
			continue
		}
		brackets, next := 0, i
		for next < len(text) && !wordByte(text[next]) {
			if text[next] == '<' {
				brackets++
			}
			next++
		}
		after, spelt := spells(text[next:], "memory")
		if end = next + after; spelt && (brackets > 2 || brackets == 2 && colonFollows(text[end:])) {
			return i, end, true
		}
		i = next
	}
	return 0, 0, false
}

// spells reports whether text begins with word, up to three signs or spaces between its letters, and where it ends.
func spells(text, word string) (end int, ok bool) {
	for i := range len(word) {
		for gap := 0; i > 0 && gap < 3 && end < len(text) && !wordByte(text[end]); gap++ {
			end++
		}
		if end >= len(text) || text[end] != word[i] {
			return 0, false
		}
		end++
	}
	return end, true
}

func colonFollows(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text[:min(len(text), 4)], " \n*_"), ":")
}

func wordByte(c byte) bool { return letter(c) || '0' <= c && c <= '9' }
