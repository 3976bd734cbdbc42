// Package growth says whether a new version of a contract can stand in for the one before it (spec 9.3, 10).
//
// It asks two questions. As Input (claims, requests): is everything that was accepted still accepted? As Events (what Iris
// says: outcomes, answers, commits): does everything that Iris says now still read as it did? A reader is taken to ignore
// properties that it doesn't know, and nothing else.
//
// It knows a closed set of keywords. A keyword outside of it, a reference that can't be followed and a schema that contains
// itself are findings, whether they changed or not. Where it can't see that a change is harmless, it says that it breaks: an
// empty answer is a promise, a finding isn't always the end of it. Words for people (title, description, examples) may change.
//
// Verify holds a schema folder to the forms that were last released (released/) and to the lock; Release takes up what grew.
package growth
