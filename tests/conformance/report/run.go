package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A run is what happened to the tests in one place.
type run struct {
	Where   string            `json:"where"`             // the devices
	Date    string            `json:"date,omitempty"`    // "" where the tests run at every change
	Passed  []string          `json:"passed"`            // ids
	Skipped map[string]string `json:"skipped,omitempty"` // what the tests of these ids need
	Failed  []string          `json:"failed,omitempty"`
}

var (
	resultLine = regexp.MustCompile(`^--- (PASS|SKIP|FAIL): Test([SPA][0-9]+) `)
	reasonLine = regexp.MustCompile(`^    \S+\.go:[0-9]+: (.*)`)
	nameLine   = regexp.MustCompile(`^=== (?:RUN|NAME|CONT) +(\S+)`)
)

// readLog reads what a test binary prints under -test.v.
func readLog(log io.Reader) (run, error) {
	r := run{Skipped: map[string]string{}}
	said := map[string]string{} // the last line that a test said, before its result
	name := ""
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if m := nameLine.FindStringSubmatch(line); m != nil {
			name = strings.TrimPrefix(m[1], "Test")
			continue
		}
		if m := reasonLine.FindStringSubmatch(line); m != nil {
			said[name] = m[1]
			continue
		}
		m := resultLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		switch id := m[2]; m[1] {
		case "PASS":
			r.Passed = append(r.Passed, id)
		case "FAIL":
			r.Failed = append(r.Failed, id)
		case "SKIP":
			r.Skipped[id] = said[id]
		}
	}
	if len(r.Passed)+len(r.Skipped)+len(r.Failed) == 0 {
		return r, fmt.Errorf("the log has no result of a test; want what -test.v prints")
	}
	r.Passed, r.Failed = inOrder(r.Passed), inOrder(r.Failed)
	return r, lines.Err()
}

// readRuns reads the recorded runs of a directory, the simulated one first.
func readRuns(directory string) ([]run, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil {
		return nil, err
	}
	var list []run
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var r run
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b run) int {
		if a.Date != b.Date && (a.Date == "" || b.Date == "") {
			return strings.Compare(a.Date, b.Date)
		}
		return strings.Compare(a.Where, b.Where)
	})
	return list, nil
}

// write records a run.
func (r run) write(name string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// differences says where two runs of the same place are not alike.
func differences(recorded, now run) []string {
	var list []string
	say := func(id, was, is string) {
		if was != is {
			list = append(list, fmt.Sprintf("%s: recorded as %s, now %s", id, was, is))
		}
	}
	a, b := recorded.results(), now.results()
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, id := range inOrder(slices.Collect(maps.Keys(all))) {
		say(id, a[id], b[id])
	}
	return list
}

// results returns a word for each id.
func (r run) results() map[string]string {
	words := map[string]string{}
	for _, id := range r.Passed {
		words[id] = "passed"
	}
	for _, id := range r.Failed {
		words[id] = "failed"
	}
	for id := range r.Skipped {
		words[id] = "skipped"
	}
	return words
}
