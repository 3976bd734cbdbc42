package acts

import (
	"slices"
	"unicode"
)

// PieceKind says whose words a piece of a difference is.
type PieceKind string

const (
	PieceSame    PieceKind = "same"
	PieceAdded   PieceKind = "added"
	PieceRemoved PieceKind = "removed"
)

// Piece is a run of text of one kind. Same and removed pieces make the text before, same and added ones the text after.
type Piece struct {
	Kind PieceKind `json:"kind"`
	Text string    `json:"text"`
}

// mostCells bounds the table of a comparison: two megabytes, a few milliseconds. Longer texts that share little are shown as
// replaced as a whole between what they begin and end with.
const mostCells = 1 << 20

// Compare compares two texts word by word. Spaces count as words of their own, so that no character is lost.
func Compare(before, after string) []Piece {
	a, b := split(before), split(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var p pieces
	p.add(PieceSame, a[:head]...)
	p.compare(a[head:len(a)-tail], b[head:len(b)-tail])
	p.add(PieceSame, a[len(a)-tail:]...)
	return slices.Clone(p)
}

func split(text string) []string {
	var words []string
	start := 0
	space := false
	for i, r := range text {
		if now := unicode.IsSpace(r); i > start && now != space {
			words = append(words, text[start:i])
			start, space = i, now
		} else {
			space = now
		}
	}
	if start < len(text) {
		words = append(words, text[start:])
	}
	return words
}

type pieces []Piece

// add joins pieces of one kind.
func (p *pieces) add(kind PieceKind, words ...string) {
	for _, word := range words {
		if n := len(*p); n > 0 && (*p)[n-1].Kind == kind {
			(*p)[n-1].Text += word
			continue
		}
		*p = append(*p, Piece{kind, word})
	}
}

// compare walks the longest common subsequence. At each step what was removed stands before what was added.
func (p *pieces) compare(a, b []string) {
	if len(a)*len(b) > mostCells {
		p.add(PieceRemoved, a...)
		p.add(PieceAdded, b...)
		return
	}
	width := len(b) + 1
	common := make([]uint16, (len(a)+1)*width) // of a[i:] and b[j:]; neither is longer than 4000 words
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			p.add(PieceSame, a[i])
			i, j = i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			p.add(PieceRemoved, a[i])
			i++
		default:
			p.add(PieceAdded, b[j])
			j++
		}
	}
	p.add(PieceRemoved, a[i:]...)
	p.add(PieceAdded, b[j:]...)
}
