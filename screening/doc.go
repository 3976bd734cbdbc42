// Package screening decides what text may be remembered and said back, and finds what must not leave tier individual (spec 1.7).
// Every path uses the same Screen: claims, HTTP, MCP, import, edits, role candidates, and again whenever text leaves for an
// assistant. docs/screening.md says how well it does.
//
// Four things can happen to a text:
//
//   - Stripped, without a finding: what can't be seen. Zero-width and filler characters, bidi controls, tags, variation
//     selectors, private-use, noncharacters, control codes but \n and \t, the surplus of a pile of combining marks, outer white
//     space. Every other line break (CR, VT, FF, NEL, U+2028, U+2029) becomes \n. What is left is NFC: the clean text, which is
//     what is shown and what is stored. The price: emoji joined by U+200D fall apart, and Persian loses its U+200C.
//   - Reduced, without a finding: markup that isn't on the allow-list. The signs of headings, quotations, code fences, rules and
//     tables go; their words stay. Emphasis, lists and inline code are allowed, and a bare URL is a word (markup.go).
//   - Refused as invalid_text: U+0000 and bytes that are not UTF-8. They are not repaired.
//   - Refused for a finding: what an assistant or a page may take for more than plain text. Links, autolinks, images, HTML, role
//     markers and chat-template tokens; injection patterns; the frame of a recalled block, `<<<memory:`, and its look-alikes.
//     `<name@host>` passes (the scrubber's business). Findings are looked for before and after markup is reduced.
//
// Findings are looked for on readings of the clean text: folded (NFKC, lower case, marks and look-alikes mapped), squashed to its
// letters, leetspeak, reversed, rot13, with character references resolved, and each run of base64, hex or binary, decoded once.
// The rules are data: phrases (patterns.json: an id, a kind, a severity, an RE2 pattern; one of severity low counts only when a low
// one of another kind is found in the same text), combinations of ideas (concepts.json), look-alikes (confusables.json).
//
// Scrub finds personal data by form, check digits and the words beside it (scrub.json), and the names that its caller knows.
// It says item and place, never the text, and repairs nothing: what it finds stops the text. It can't fail; text that is not valid is a
// leak from end to end.
//
// A finding names its rule and place, never the text. The package is pure: no I/O, clock or randomness; a Screen is immutable and
// safe for concurrent use; the time is linear in the text.
//
// Known not to work: what an instruction means when it uses none of the phrases known here, attacks in languages without rules,
// ciphers other than those above, codes within codes, and phrases pulled more than 160 bytes apart.
package screening
