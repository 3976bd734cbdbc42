// Package browser drives a real Chromium in tests: the machine's own, without a window, with a profile that is thrown away and
// no way to any host but this one. A test whose machine has none fails and says what to install; nothing is skipped.
//
// Typing and pressing are real key and mouse events, so what a page does with them is what a person would see. WithoutScript
// takes script away from pages, not from this package.
//
// axe/axe.min.js is axe-core 4.14.1 by Deque Systems, under the Mozilla Public License 2.0 (axe/LICENSE), unchanged; the parts
// that it bundles are listed in axe/LICENSE-3RD-PARTY.txt. Tests inject it; the product doesn't contain it.
package browser
