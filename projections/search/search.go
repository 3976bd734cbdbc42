// Package search is the read model that finds a memory by its words: memory_search, one row per memory with the keyed forms of its
// words (spec 9.4). A word is a token of recall/1, stemmed as English, under the member's search key: whole words match, in any of
// their English forms; a text in another language is found by its words as they stand.
//
// It guarantees: no text and no unkeyed word reaches the projection, let alone the database; the same word of two members has
// nothing in common. What it does give away to who can read the table is which memories of one member share a word, and how many
// distinct words each has.
//
// It is carried by a line of its own that may lag: the words cost more than everything else of a commit. What it can't read it
// parks, like every read model that says nothing about what may be used.
package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kljensen/snowball/english"

	"iris.example/iris/events"
	"iris.example/iris/recall"
)

// LineOf names the line of an organisation. No stream has a name like it.
func LineOf(org string) string { return events.StreamFor(org) + "/search" }

// Opens are the sealed fields that words are taken from.
func Opens() []string { return []string{"body", "labels"} }

// Keys make the keyed forms of words under a member's search key; the vault does. The function holds the key: it is let go with
// the commit or the query that it was got for.
type Keys interface {
	SearchTokens(ctx context.Context, org string, member events.ID) (func(parts ...string) string, error)
}

// ErrNoKeys: what holds the keys can't make keyed words, so that nothing is indexed or found.
var ErrNoKeys = errors.New("search_keys_missing")

// KeysOf are the keys of a codec: one vault seals and keys.
func KeysOf(codec events.Codec) (Keys, error) {
	keys, ok := codec.Keys.(Keys)
	if !ok {
		return nil, ErrNoKeys
	}
	return keys, nil
}

// keyLength cuts a keyed word to 132 bits: no two of a member's words meet by chance.
const keyLength = 22

// Keyed are the keyed forms of the words of texts, as a sorted set.
func Keyed(key func(parts ...string) string, texts ...string) []string {
	return stemmer{}.keyed(key, texts...)
}

// stemmer knows the stems of the words that it met: the same few make most of what people say, and a stem costs more than its
// keyed form. It holds words, so that it is for one batch and no longer.
type stemmer map[string]string

func (s stemmer) keyed(key func(parts ...string) string, texts ...string) []string {
	words := []string{}
	for _, stem := range s.stems(texts) {
		words = append(words, key("word", stem)[:keyLength])
	}
	slices.Sort(words)
	return words
}

func (s stemmer) stems(texts []string) []string {
	var all []string
	for _, text := range texts {
		for _, token := range recall.Tokens(text) {
			all = append(all, s.stem(token))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s stemmer) stem(token string) string {
	stem, known := s[token]
	if !known {
		stem = english.Stem(token, true)
		s[token] = stem
	}
	return stem
}

// Decoder reads commits for this projection: in place of each body stand its keyed words and those of its subject, and nowhere
// any text. That the keys can't be asked just now is an error of the moment, as it is for what is sealed.
type Decoder struct {
	Commits events.Codec
	Keys    Keys
}

// OpenEach opens many, in one trip to the vault, and closes their texts again.
func (d Decoder) OpenEach(ctx context.Context, read []events.Opened) []events.Opened {
	opened, stems := d.Commits.OpenEach(ctx, read), stemmer{}
	for i := range opened {
		if o := &opened[i]; o.Err == nil {
			o.Commit, o.Err = d.keyed(ctx, stems, o.Commit)
		}
	}
	return opened
}

// keyed puts the keyed words in the place of each text, in events of its own.
func (d Decoder) keyed(ctx context.Context, stems stemmer, commit events.Commit) (events.Commit, error) {
	var key func(parts ...string) string
	commit.Events = slices.Clone(commit.Events)
	for i, e := range commit.Events {
		said, about := textOf(e.Event)
		if said == nil {
			continue
		}
		if key == nil {
			var err error
			if key, err = d.Keys.SearchTokens(ctx, commit.Organisation, commit.Aggregate.ID); err != nil {
				return commit, fmt.Errorf("key the words of a commit at %d: %w", commit.Position, err)
			}
		}
		words := strings.Join(stems.keyed(key, said.Plain, about.Plain.Subject), " ")
		commit.Events[i].Event = wordsOf(e.Event, events.Hide(words))
		said.Close()
	}
	return commit, nil
}

// wordsOf is an event that says words in the place of its text, and of the rest what this projection needs.
func wordsOf(e events.Event, words events.Secret[string]) events.Event {
	switch e := e.(type) {
	case *events.ProposalRecorded:
		return &events.ProposalRecorded{Entry: e.Entry, Body: words}
	case *events.MemoryStated:
		return &events.MemoryStated{Entry: e.Entry, Body: words}
	case *events.MemoryPromoted:
		return &events.MemoryPromoted{Entry: e.Entry, From: e.From, Body: words}
	case *events.SessionItemKept:
		return &events.SessionItemKept{Entry: e.Entry, Body: words}
	case *events.MemoryRevised:
		return &events.MemoryRevised{Revised: e.Revised, Body: words}
	case *events.MemoryKept:
		return &events.MemoryKept{Revised: e.Revised, Body: &words}
	}
	return e
}

// textOf is what an event says, if it says anything, with what it is about.
func textOf(e events.Event) (*events.Secret[string], *events.Secret[events.Labels]) {
	switch e := e.(type) {
	case *events.ProposalRecorded:
		return &e.Body, &e.Labels
	case *events.MemoryStated:
		return &e.Body, &e.Labels
	case *events.MemoryPromoted:
		return &e.Body, &e.Labels
	case *events.SessionItemKept:
		return &e.Body, &e.Labels
	case *events.MemoryRevised:
		return &e.Body, &e.Labels
	case *events.MemoryKept:
		return e.Body, &e.Labels // nil: as it was proposed
	}
	return nil, nil
}
