package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Report is the file that outcomes are written to, one JSON line each. It holds ids and codes and nothing of a claim's words. It is
// for one run at a time.
type Report struct {
	file    *os.File
	settled map[string]string // by the claim's id: its outcome
}

type entry struct {
	Line       int    `json:"line"`
	ID         string `json:"id"`
	Outcome    string `json:"outcome"`
	Reason     string `json:"reason,omitempty"`
	ProposalID string `json:"proposalId,omitempty"`
}

// OpenReport takes a report up again, or begins it. Half a line at its end, of a run that was killed, is cut off; a line in its midst
// that can't be read is refused, because then it is another file.
func OpenReport(path string) (*Report, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the report: %w", err)
	}
	r := &Report{file: file, settled: map[string]string{}}
	if err := r.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("read the report %s: %w", path, err), file.Close())
	}
	return r, nil
}

func (r *Report) load() error {
	content, err := io.ReadAll(r.file)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(content, '\n') + 1
	for number, line := range bytes.SplitAfter(content[:whole], []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil || e.ID == "" || e.Outcome == "" {
			return fmt.Errorf("line %d is no outcome; move the file away, or name another report", number+1)
		}
		r.settled[e.ID] = e.Outcome
	}
	if err := r.file.Truncate(int64(whole)); err != nil {
		return err
	}
	_, err = r.file.Seek(int64(whole), io.SeekStart)
	return err
}

// Settled says whether a claim's outcome stands in the report.
func (r *Report) Settled(id string) bool { return r.settled[id] != "" }

// write appends one outcome. Calls are the run's, one at a time; settled is read by the feed only for ids that no run writes again.
func (r *Report) write(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (r *Report) sync() error {
	if err := r.file.Sync(); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Close ends the use of the file.
func (r *Report) Close() error { return r.file.Close() }
