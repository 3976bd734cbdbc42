// Package natsmarks carries watermarks from the process that projects to those that read, over NATS core (spec 9.1, 9.4): after
// each transaction the line's position, on a subject that only Iris's own account can publish to. Nothing is stored and anything
// may be lost: the cursor row is what counts, and engine.Watermarks reads it on the first look, after a silence, and when the
// connection was gone.
package natsmarks

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"iris.example/iris/projections/engine"
)

const subjects = "iris.sys.watermark."

// Subject is where the positions of an organisation's lines are told.
func Subject(org string) string { return subjects + org }

// mark is one message. The organisation stands in the subject.
type mark struct {
	Line     string `json:"line"`
	Position uint64 `json:"position,string"`
	Resumed  bool   `json:"resumed,omitempty"` // the line begins there, perhaps anew
}

// Publisher tells this process and the others. Telling others can fail, and need not succeed.
type Publisher struct {
	Conn *nats.Conn
	Here engine.Announcer
}

func (p Publisher) Announce(org, line string, position uint64) {
	p.Here.Announce(org, line, position)
	p.tell(org, mark{line, position, false})
}

func (p Publisher) Resumed(org, line string, position uint64) {
	p.Here.Resumed(org, line, position)
	p.tell(org, mark{line, position, true})
}

func (p Publisher) tell(org string, m mark) {
	if body, err := json.Marshal(m); err == nil {
		_ = p.Conn.Publish(Subject(org), body)
	}
}

// Marks hears what is told.
type Marks interface {
	engine.Announcer
	Doubt()
}

// Subscribe passes on what others tell, until stop. When the connection comes back, everything heard before is doubted.
func Subscribe(conn *nats.Conn, marks Marks) (stop func(), err error) {
	status := conn.StatusChanged(nats.CONNECTED)
	subscription, err := conn.Subscribe(subjects+"*", func(m *nats.Msg) { hear(marks, m) })
	if err != nil {
		conn.RemoveStatusListener(status)
		return nil, fmt.Errorf("listen for watermarks: %w", err)
	}
	var ended sync.WaitGroup
	end := make(chan struct{})
	ended.Go(func() {
		for {
			select {
			case <-status:
				marks.Doubt()
			case <-end:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		_ = subscription.Unsubscribe()
		close(end)
		ended.Wait()
		conn.RemoveStatusListener(status)
	}), nil
}

// hear drops what isn't a mark: the cursor row tells.
func hear(marks Marks, m *nats.Msg) {
	var told mark
	if json.Unmarshal(m.Data, &told) != nil || told.Line == "" {
		return
	}
	org := strings.TrimPrefix(m.Subject, subjects)
	if told.Resumed {
		marks.Resumed(org, told.Line, told.Position)
		return
	}
	marks.Announce(org, told.Line, told.Position)
}
