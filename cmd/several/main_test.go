package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
)

// python is the Python of TestRun: without one PyTorch's side is not run.
var python = flag.String("python", "off", "a python3 with PyTorch, for its side of the rows")

// small is the size that shows that the rows run.
var small = size{Mega: []int{1}, Layers: 2, Width: 8, Batch: 2, Blocks: 1, Model: 8, Heads: 2, Sequences: 1, Sequence: 3, Rounds: 1, Calls: 1}

// TestRun measures every row on two simulated devices: no figure means anything, and all are
// there.
func TestRun(t *testing.T) {
	device.Install(sim.New(sim.Config{Devices: 2, Async: true}))
	s := settings{python: *python, json: filepath.Join(t.TempDir(), "out.json"), devices: []device.Device{device.Sim(0), device.Sim(1)}, size: small}
	var out strings.Builder
	if err := s.run(&out); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if rows := strings.Count(out.String(), "\n| all-reduce") + strings.Count(out.String(), "\n| perceptron") + strings.Count(out.String(), "\n| transformer"); rows != 10 {
		t.Errorf("%d rows, want 10:\n%s", rows, out.String())
	}
	if strings.Contains(out.String(), "without PyTorch") {
		t.Error("PyTorch's side did not run")
	}
	if _, err := os.Stat(s.json); err != nil {
		t.Error(err)
	}
}

// TestDigits trains on the CPU, alone.
func TestDigits(t *testing.T) {
	var out strings.Builder
	steps := digitsCount
	if testing.Short() {
		steps /= 3
	}
	if err := digitsRow(&out, steps); err != nil {
		t.Fatal(err)
	}
	var loss, median, least float64
	if _, err := fmt.Sscanf(out.String(), "digits, batch 256 on 1 processes: %f ms a step (least %f), loss %f after", &median, &least, &loss); err != nil || loss > 1 {
		t.Errorf("%q: %v", out.String(), err)
	}
}

// TestPaper holds the guide's table and picture to the formulas.
func TestPaper(t *testing.T) {
	var table strings.Builder
	estimates(&table)
	read := func(file string) string {
		b, err := os.ReadFile(filepath.Join("../../docs/guide", file))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if !strings.Contains(read("several.md"), table.String()) {
		t.Errorf("docs/guide/several.md has not the table\n%s", table.String())
	}
	if read("scaling.svg") != string(picture()) {
		t.Error("docs/guide/scaling.svg is stale: go run ./cmd/several -paper docs/guide/scaling.svg")
	}
	for _, l := range loads {
		for n := 1; n < 1<<ranks; n *= 2 {
			if a, b := l.efficiency(n), l.efficiency(2*n); b > a || b <= 0 || a > 1 {
				t.Errorf("%s: %d GPUs %g, twice as many %g", l, n, a, b)
			}
		}
	}
}
