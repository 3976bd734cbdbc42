package browser

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// patience bounds one step; a busy machine is no failure, a hang is.
const patience = time.Minute

// names are what Debian, its derivatives and Google call it.
var names = [...]string{"chromium", "chromium-browser", "google-chrome"}

// Tab is one tab of a browser of its own. It belongs to one goroutine; a step that fails ends the test.
type Tab struct {
	t   testing.TB
	ctx context.Context
}

// Open starts a browser that ends with the test.
func Open(t testing.TB) *Tab {
	t.Helper()
	path := find(t)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1000, 900),
		chromedp.NoSandbox, // root has no sandbox; what is visited is our own
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
	)...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // lets it write its profile before the directory goes
	// The first step starts the browser, which ends with the context of that step: it must have no deadline of its own.
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	return &Tab{t, ctx}
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("browser: none of %v is on PATH; install one, on Debian with: apt-get install chromium", names)
	return ""
}

func (b *Tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, steps...))
}

func ask[T any](b *Tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	answer, err := chromedp.Run(ctx, action)
	require.NoError(b.t, err)
	return answer
}

// WithoutScript makes every page from now on run none.
func (b *Tab) WithoutScript() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(b.t, err)
}

// Media emulates a medium ("print", or "" for the screen) and a colour scheme ("light" or "dark").
func (b *Tab) Media(medium, scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(b.t, err)
}

// Visit opens an address and returns the status of the answer.
func (b *Tab) Visit(address string) int64 {
	b.t.Helper()
	return b.follow(chromedp.Navigate(address))
}

// Press clicks what leads to another page, waits for that page and returns the status of the answer.
func (b *Tab) Press(css string) int64 {
	b.t.Helper()
	return b.follow(chromedp.Click(chromedp.CSS(css)))
}

// Enter presses Enter on an element, waits for the page that follows and returns the status of the answer.
func (b *Tab) Enter(css string) int64 {
	b.t.Helper()
	return b.follow(chromedp.Focus(chromedp.CSS(css)), chromedp.KeyEvent(kb.Enter))
}

func (b *Tab) follow(steps ...chromedp.Action[chromedp.Void]) int64 {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	answer, err := chromedp.RunResponse(ctx, steps...)
	require.NoError(b.t, err)
	return answer.Status
}

// Click clicks what stays on the page: a tick, a summary.
func (b *Tab) Click(css string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(css)))
}

// Write replaces what a field holds, key by key.
func (b *Tab) Write(css, text string) {
	b.t.Helper()
	b.do(chromedp.Focus(chromedp.CSS(css)), chromedp.KeyEvent("a", chromedp.KeyModifiers(kb.ModifierCtrl)),
		chromedp.KeyEvent(kb.Delete), chromedp.SendKeys(chromedp.CSS(css), text))
}

// Choose sets a select.
func (b *Tab) Choose(css, value string) {
	b.t.Helper()
	b.do(chromedp.SetValue(chromedp.CSS(css), value))
}

// Keys presses keys wherever the focus is; the constants of chromedp/kb name those without a letter.
func (b *Tab) Keys(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// Text is what an element shows.
func (b *Tab) Text(css string) string {
	b.t.Helper()
	return ask(b, chromedp.Text(chromedp.CSS(css)))
}

// Value is what a field holds.
func (b *Tab) Value(css string) string {
	b.t.Helper()
	return ask(b, chromedp.Value(chromedp.CSS(css)))
}

// Count is how many elements match.
func (b *Tab) Count(css string) int {
	b.t.Helper()
	return len(ask(b, chromedp.Nodes(chromedp.CSSAll(css), chromedp.AtLeast(0))))
}

// Address is where the tab is.
func (b *Tab) Address() string {
	b.t.Helper()
	return ask(b, chromedp.Location())
}

// Title is the page's.
func (b *Tab) Title() string {
	b.t.Helper()
	return ask(b, chromedp.Title())
}

// Ask evaluates an expression in the page.
func Ask[T any](b *Tab, expression string) T {
	b.t.Helper()
	return ask(b, chromedp.Evaluate[T](expression))
}

// Print is the page as PDF.
func (b *Tab) Print() []byte {
	b.t.Helper()
	return ask(b, chromedp.PrintToPDF())
}
