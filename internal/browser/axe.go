package browser

import (
	_ "embed"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

//go:embed axe/axe.min.js
var axe string

// run asks for WCAG 2.2 A and AA and for axe's best practices. Rules that axe leaves off by default are on by their tag.
const run = `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r => ({
	Checked: r.passes.length,
	Violations: r.violations.map(v => v.id + ": " + v.help + "\n" +
		v.nodes.map(n => "  " + n.target.join(" ") + ": " + n.failureSummary.replace(/\s+/g, " ")).join("\n"))
}))`

// Accessible holds the page that the tab shows against the accessibility rules, in both colour schemes: no violation may be
// found. It needs script, so it is for tabs that have it.
func (b *Tab) Accessible(page string) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b.Media("", scheme)
		if found := b.Violations(); len(found) > 0 {
			b.t.Errorf("%s, %s:\n%s", page, scheme, strings.Join(found, "\n"))
		}
	}
	b.Media("", "light")
}

// Violations is what axe has against the page as it shows now, a rule each.
func (b *Tab) Violations() []string {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](axe))
	found := ask(b, chromedp.Evaluate[struct {
		Checked    int
		Violations []string
	}](run, chromedp.EvalAwaitPromise))
	require.Positive(b.t, found.Checked, "axe looked at nothing")
	return found.Violations
}
