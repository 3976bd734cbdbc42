package batch

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"iris.example/iris/boundary"
	"iris.example/iris/client"
)

// maxLine is what the inbox takes in one message (spec 9.2).
const maxLine = 256 << 10

// eachLine calls fn with every line that isn't blank, by its number. A line that is too long comes cut, so that parse refuses it.
func eachLine(from io.Reader, fn func(number int, text []byte) error) error {
	reader := bufio.NewReaderSize(from, 64<<10)
	for number := 1; ; number++ {
		text, err := readLine(reader)
		if text = bytes.TrimSpace(text); len(text) > 0 {
			if err := fn(number, text); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func readLine(reader *bufio.Reader) (line []byte, err error) {
	for {
		part, err := reader.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Count is how many lines of a file a run will look at.
func Count(from io.Reader) (lines int, err error) {
	err = eachLine(from, func(int, []byte) error { lines++; return nil })
	return lines, err
}

// parse reads a line: the CloudEvents JSON of a claim, of which only id and data must be there. The code says why it is none.
func parse(text []byte) (claim client.Claim, code string) {
	if len(text) > maxLine {
		return claim, string(boundary.BodyTooLarge)
	}
	var m struct {
		SpecVersion     string        `json:"specversion"`
		ID              string        `json:"id"`
		Source          string        `json:"source"`
		Type            string        `json:"type"`
		Time            string        `json:"time"`
		DataContentType string        `json:"datacontenttype"`
		TraceParent     string        `json:"traceparent"`
		Data            *client.Claim `json:"data"`
	}
	var refused *boundary.Error
	if err := boundary.Decode(text, &m); errors.As(err, &refused) {
		return claim, string(refused.Code)
	} else if err != nil {
		return claim, client.ErrClaim.Error()
	}
	if m.Data == nil || m.Type != "" && m.Type != client.ClaimType || client.CheckID(m.ID) != nil {
		return claim, client.ErrClaim.Error()
	}
	claim = *m.Data
	claim.ID, claim.TraceParent = m.ID, m.TraceParent
	return claim, ""
}
