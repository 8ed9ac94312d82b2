// Command report writes docs/semantics.md: each statement about devices, streams,
// memory and graphs, its test, where the test ran, and how the project differs
// from PyTorch there. Statements are the comments of the tests in
// tests/conformance; what ran is recorded in tests/conformance/runs. It knows
// nothing of what the statements say.
//
//	go run ./tests/conformance/report                     write the document
//	go run ./tests/conformance/report -check              fail if it is not fresh
//	... -test.v | go run ./tests/conformance/report -record sim -where "simulated accelerators"
//	... -test.v | go run ./tests/conformance/report -compare sim
//
// -record keeps what a run printed; -compare fails if a run did not end as the
// recorded one.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "the module's `directory`")
	flag.BoolVar(&o.check, "check", false, "fail if the document is not fresh")
	flag.StringVar(&o.record, "record", "", "keep the run that standard input shows under this `name`")
	flag.StringVar(&o.compare, "compare", "", "compare the run that standard input shows with the one of this `name`")
	flag.StringVar(&o.where, "where", "", "with -record: the devices of the run")
	flag.StringVar(&o.date, "date", "", "with -record: the day of the run")
	flag.Parse()
	if err := o.do(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

type options struct {
	root, record, compare, where, date string
	check                              bool
}

func (o options) tests() string { return filepath.Join(o.root, "tests", "conformance") }
func (o options) runFile(name string) string {
	return filepath.Join(o.tests(), "runs", name+".json")
}

func (o options) do(log io.Reader) error {
	switch {
	case o.record != "":
		r, err := readLog(log)
		if err != nil {
			return err
		}
		r.Where, r.Date = o.where, o.date
		if err := r.write(o.runFile(o.record)); err != nil {
			return err
		}
	case o.compare != "":
		return o.compareWith(log)
	}
	text, err := o.document()
	if err != nil {
		return err
	}
	name := filepath.Join(o.root, "docs", "semantics.md")
	if !o.check {
		return os.WriteFile(name, text, 0o644)
	}
	have, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if string(have) != string(text) {
		return fmt.Errorf("%s is not fresh: go run ./tests/conformance/report", name)
	}
	return nil
}

// compareWith fails if the run that a log shows did not end as the recorded one.
func (o options) compareWith(log io.Reader) error {
	now, err := readLog(log)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(o.runFile(o.compare))
	if err != nil {
		return err
	}
	var recorded run
	if err := json.Unmarshal(text, &recorded); err != nil {
		return err
	}
	var all []error
	for _, d := range differences(recorded, now) {
		all = append(all, errors.New(d))
	}
	return errors.Join(all...)
}

// document returns the text of docs/semantics.md.
func (o options) document() ([]byte, error) {
	found, err := read(o.tests())
	if err != nil {
		return nil, err
	}
	left, err := readLeftOut(filepath.Join(o.tests(), "left_out.txt"))
	if err != nil {
		return nil, err
	}
	runs, err := readRuns(filepath.Join(o.tests(), "runs"))
	if err != nil {
		return nil, err
	}
	if err := complete(found, left, runs); err != nil {
		return nil, err
	}
	return render(found, left, runs), nil
}
