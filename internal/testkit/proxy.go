package testkit

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a program and a server, and does what networks do: cuts connections, delays what is sent, and goes silent
// without a word.
type Proxy struct {
	listener net.Listener
	network  string
	target   string

	mu     sync.Mutex // guards what follows
	conns  map[net.Conn]bool
	delay  time.Duration
	silent chan struct{} // closed when it is not silent
	answer bool          // only what the server says is held
	closed bool
}

// NewProxy listens at an address ("tcp", "127.0.0.1:0"; "unix", a path) for a server of the same network. It ends with the test.
func NewProxy(tb testing.TB, network, address, target string) *Proxy {
	tb.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		tb.Fatalf("testkit: listen for a proxy: %v", err)
	}
	p := &Proxy{listener: listener, network: network, target: target, conns: map[net.Conn]bool{}, silent: make(chan struct{})}
	close(p.silent)
	go p.accept()
	tb.Cleanup(func() {
		_ = listener.Close()
		p.Speak()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.Cut()
	})
	return p
}

// Address is where it listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Cut closes every connection there is. New ones are let through.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

// Delay holds everything that is sent up for so long.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Hush passes nothing on until Speak; connections stay open, and new ones are taken.
func (p *Proxy) Hush() { p.hush(false) }

// HushAnswers passes on what the program says and nothing of what the server does: what was asked is done, and nobody hears of it.
func (p *Proxy) HushAnswers() { p.hush(true) }

func (p *Proxy) hush(answers bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent, p.answer = make(chan struct{}), answers
}

// Speak ends Hush.
func (p *Proxy) Speak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.silent:
	default:
		close(p.silent)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.target)
		if err != nil || !p.keep(client, server) {
			_ = client.Close()
			continue
		}
		go p.pass(client, server, false)
		go p.pass(server, client, true)
	}
}

func (p *Proxy) keep(both ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range both {
		if p.closed {
			_ = c.Close()
			continue
		}
		p.conns[c] = true
	}
	return !p.closed
}

func (p *Proxy) pass(from, to net.Conn, answers bool) {
	defer from.Close()
	defer to.Close()
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			p.mu.Lock()
			delay, silent, held := p.delay, p.silent, answers || !p.answer
			p.mu.Unlock()
			if held {
				<-silent
			}
			if delay > 0 {
				<-time.After(delay)
			}
			if _, err := to.Write(chunk[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
