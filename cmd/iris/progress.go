package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"iris.example/iris/client/batch"
)

const (
	redrawEvery = 200 * time.Millisecond
	lineEvery   = 5 * time.Second
	barWidth    = 30
)

// progress shows how far a run is: a bar with rate and time left on a terminal, now and then a plain line elsewhere. It owns the last
// line of the terminal until its end.
type progress struct {
	out      io.Writer
	terminal bool
	total    int
	began    time.Time

	mu    sync.Mutex // guards what follows
	now   batch.Progress
	drawn time.Time
	slow  int   // how often something was sent again since the last drawing
	why   error // the last of them
	told  bool  // that it is slow was said in plain lines
}

func newProgress(out io.Writer, total int) *progress {
	p := &progress{out: out, total: total, began: time.Now()}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) moved(now batch.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = now
	every := lineEvery
	if p.terminal {
		every = redrawEvery
	}
	if time.Since(p.drawn) >= every {
		p.draw()
	}
}

// slowed is told whenever a claim must be sent again. On a terminal it stands behind the bar; elsewhere it is said once.
func (p *progress) slowed(cause error, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow++
	p.why = cause
	if p.terminal {
		if time.Since(p.drawn) >= redrawEvery {
			p.draw()
		}
		return
	}
	if !p.told {
		p.told = true
		fmt.Fprintf(p.out, "iris: slowing down, claims are sent again (first in %s): %v\n", pause.Round(time.Millisecond), cause)
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw()
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}

// draw is called with mu held.
func (p *progress) draw() {
	p.drawn = time.Now()
	text := describe(p.now.Done(), p.total, p.drawn.Sub(p.began))
	if p.slow > 0 {
		text += fmt.Sprintf("  slowed down: %v", p.why)
		p.slow = 0
	}
	if !p.terminal {
		fmt.Fprintln(p.out, "iris:", text)
		return
	}
	filled := barWidth
	if p.total > 0 {
		filled = barWidth * min(p.now.Done(), p.total) / p.total
	}
	fmt.Fprintf(p.out, "\r\x1b[K[%s%s] %s", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), text)
}

func describe(done, total int, took time.Duration) string {
	text := fmt.Sprintf("%d of %d", done, total)
	if done == 0 || took <= 0 {
		return text
	}
	rate := float64(done) / took.Seconds()
	text += fmt.Sprintf("  %.0f/s", rate)
	if left := total - done; left > 0 {
		text += fmt.Sprintf("  %s left", (time.Duration(float64(left) / rate * float64(time.Second))).Round(time.Second))
	}
	return text
}
