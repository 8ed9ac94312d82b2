package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFresh checks that the document is what the tests and the recorded runs
// make, and with it that no id is missing.
func TestFresh(t *testing.T) {
	if err := (options{root: "../../..", check: true}).do(nil); err != nil {
		t.Error(err)
	}
}

func TestReadFile(t *testing.T) {
	const head = "package x\n\nimport \"testing\"\n\n"
	for _, c := range []struct {
		name, source string
		want         map[string]statement
		fails        string
	}{
		{
			"statement and difference",
			head + "// One line,\n// and another.\n//\n// Differs: in this,\n// and why.\nfunc TestS2(t *testing.T) {}\n\n// No statement.\nfunc TestOther(t *testing.T) {}\n",
			map[string]statement{"S2": {"S2", "One line, and another.", "in this, and why.", "a_test.go"}}, "",
		},
		{"no comment", head + "func TestA1(t *testing.T) {}\n", nil, "TestA1 has no comment"},
		{"no such id", head + "// X.\nfunc TestS79(t *testing.T) {}\n", nil, "no statement S79"},
		{"twice", head + "// X.\nfunc TestP1(t *testing.T) {}\n\n// Y.\nfunc TestP1(t *testing.T) {}\n", nil, "TestP1 is in a_test.go and in a_test.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := map[string]statement{}
			err := readFile(found, "a_test.go", []byte(c.source))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("have error %v, want one with %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, found, cmp.AllowUnexported(statement{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadLog(t *testing.T) {
	const log = `=== RUN   TestS1
--- PASS: TestS1 (0.00s)
=== RUN   TestS20
    precision_test.go:20: needs a GPU: TF32 units
--- SKIP: TestS20 (0.00s)
=== RUN   TestModel
--- PASS: TestModel (0.00s)
=== RUN   TestA9
=== RUN   TestA9/large
    a_test.go:9: wrong
--- FAIL: TestA9 (0.00s)
    --- FAIL: TestA9/large (0.00s)
FAIL
`
	have, err := readLog(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	want := run{Passed: []string{"S1"}, Failed: []string{"A9"}, Skipped: map[string]string{"S20": "needs a GPU: TF32 units"}}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	now := run{Passed: []string{"S1", "S20"}}
	if diff := cmp.Diff([]string{"S20: recorded as skipped, now passed", "A9: recorded as failed, now "}, differences(have, now)); diff != "" {
		t.Error(diff)
	}
	if _, err := readLog(strings.NewReader("ok  	x	0.1s\n")); err == nil {
		t.Error("a log without results is taken")
	}
}

func TestComplete(t *testing.T) {
	found, left := map[string]statement{}, map[string]string{}
	for _, id := range ids() {
		found[id] = statement{id: id, text: "x"}
	}
	whole := run{Where: "here", Passed: ids()}
	for _, c := range []struct {
		name  string
		spoil func()
		runs  []run
		fails string
	}{
		{"complete", func() {}, []run{whole}, ""},
		{"no run", func() {}, nil, "S1: no recorded run passed its test"},
		{"failed", func() {}, []run{whole, {Where: "there", Failed: []string{"P3"}}}, "P3 failed on there"},
		{"both", func() { left["A1"] = "no" }, []run{whole}, "A1 has a test in"},
		{"missing", func() { delete(left, "A1"); delete(found, "A1") }, []run{whole}, "A1 has no test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spoil()
			err := complete(found, left, c.runs)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("have error %v, want %q", err, c.fails)
			}
		})
	}
}
