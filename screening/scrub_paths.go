package screening

import (
	"slices"
	"strings"
)

// filePath takes absolute paths, paths of Windows, shares, and relative ones that end in a known kind of file.
func (p *page) filePath(t piece) {
	text := p.raw(t)
	for _, head := range [...]string{"file:", "from:", "in:", "at:"} {
		if rest, ok := strings.CutPrefix(strings.ToLower(text), head); ok && rest != "" && (rest[0] == '/' || rest[0] == '~') {
			t.from += len(head)
			text = p.raw(t)
		}
	}
	if p.isPath(text) {
		p.take(ItemPath, t.from, t.to)
	}
}

func (p *page) isPath(text string) bool {
	switch {
	case len(text) > 3 && asciiLetter(rune(text[0])) && text[1] == ':' && (text[2] == '\\' || text[2] == '/' && text[3] != '/'):
		return true
	case strings.HasPrefix(text, `\\`) && len(text) > 4 && strings.Contains(text[2:], `\`):
		return true
	case strings.HasPrefix(text, "~/") && len(text) > 2, strings.HasPrefix(text, "../") && len(text) > 3, strings.HasPrefix(text, "./") && len(text) > 2:
		return true
	case strings.HasPrefix(text, "$HOME/"), strings.HasPrefix(text, "%USERPROFILE%"), strings.HasPrefix(text, "%APPDATA%"):
		return true
	case strings.HasPrefix(text, "/"):
		segments := strings.Split(strings.Trim(text, "/"), "/")
		return slices.Contains(p.screen.scrub.roots, segments[0]) || len(segments) > 1 && !slices.Contains(segments, "") && hasLetter(text) || p.fileName(text)
	}
	return strings.ContainsAny(text, `/\`) && !strings.Contains(text, "://") && p.fileName(text)
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, asciiLetter) }

// fileName reports whether the last segment ends in a known kind of file.
func (p *page) fileName(path string) bool {
	last := path[strings.LastIndexAny(path, `/\`)+1:]
	dot := strings.LastIndexByte(last, '.')
	return dot > 0 && p.screen.scrub.files[strings.ToLower(last[dot+1:])]
}
