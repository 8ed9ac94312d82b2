// Command peers measures sinter beside what else there is for tensors in Go, and beside
// PyTorch, on this machine's processors. It is in a module of its own, so that its
// dependencies are nobody else's. In its folder:
//
//	go run . -python python3 -threads 1 -svg ../../docs/peers.svg -json ../../docs/peers.json
//
// Every side is a process of its own that stays. In each round a side runs a row for a
// while, then the next side does. A figure is the lowest of the rounds, because other
// programs can only make a call longer. Before they are measured, the sides' results are
// compared.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime"
	"strings"
)

// rows are what every side does: the name that sides know, and the title.
var rows = [][2]string{
	{"add", "add, 1 Mi elements"},
	{"matmul", "product, 512 × 512"},
	{"softmax", "softmax, 1024 × 1024"},
	{"conv2d", "conv2d 3 × 3, 16 × 16 × 32 × 32"},
	{"step", "MLP training step, batch 64"},
}

// A Report is what was measured.
type Report struct {
	Processor string
	Threads   int // of each side
	System    string
	Go        string
	Rounds    int
	Sides     []string
	Rows      []Row
}

// A Row has the nanoseconds of a call by side; a side that lacks the row has none.
type Row struct {
	Title string
	Times map[string]float64
}

func main() {
	python := flag.String("python", "python3", "a Python that has PyTorch, or off")
	svg := flag.String("svg", "", "file for the picture")
	file := flag.String("json", "", "file for the figures")
	rounds := flag.Int("rounds", 15, "rounds")
	span := flag.Int("span", 100, "milliseconds for a row of a side in a round")
	from := flag.String("from", "", "draw the figures in this file instead of measuring")
	threads := flag.Int("threads", runtime.NumCPU(), "threads of each side: GOMAXPROCS, and PyTorch's")
	flag.Parse()
	report, err := &Report{}, error(nil)
	if *from != "" {
		err = report.read(*from)
	} else {
		report, err = measure(*python, *rounds, *span, *threads)
	}
	if err == nil {
		report.print(os.Stdout)
		err = report.save(*file, *svg)
	}
	if err != nil {
		slog.Error("peers", "error", err)
		os.Exit(1)
	}
}

// measure starts the sides, compares them and takes their times.
func measure(python string, rounds, span, threads int) (*Report, error) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	sides, err := start(dir, python, threads)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, s := range sides {
			s.stop()
		}
	}()
	report := &Report{Processor: processor(), Threads: threads, System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Rounds: rounds}
	for _, s := range sides {
		report.Sides = append(report.Sides, s.name)
	}
	for _, row := range rows {
		if err := agree(row[0], sides); err != nil {
			return nil, err
		}
		r := Row{row[1], map[string]float64{}}
		for range rounds {
			for _, s := range sides {
				ns, has, err := s.ask(fmt.Sprintf("time %s %d", row[0], span))
				if err != nil {
					return nil, err
				}
				if best, before := r.Times[s.name]; has && (!before || ns < best) {
					r.Times[s.name] = ns
				}
			}
		}
		report.Rows = append(report.Rows, r)
	}
	return report, nil
}

// agree compares what the sides compute in a row with what the first one does.
func agree(row string, sides []*side) error {
	var want float64
	for i, s := range sides {
		got, has, err := s.ask("check " + row)
		switch {
		case err != nil:
			return err
		case i == 0:
			want = got
		case has && math.Abs(got-want) > 1e-4*math.Abs(want):
			return fmt.Errorf("%s: %s computes %g, %s %g", row, s.name, got, sides[0].name, want)
		}
	}
	return nil
}

// threads says how many threads each side has.
func (r *Report) threads() string {
	if r.Threads == 1 {
		return "one thread"
	}
	return fmt.Sprintf("%d threads", r.Threads)
}

// print writes a table of microseconds, with shares of the first side's time.
func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s, %s, %s; lowest of %d rounds\n\n%-34s", r.Processor, r.threads(), r.System, r.Go, r.Rounds, "microseconds a call")
	for _, s := range r.Sides {
		fmt.Fprintf(w, "%22s", s)
	}
	for _, row := range r.Rows {
		fmt.Fprintf(w, "\n%-34s", row.Title)
		for _, s := range r.Sides {
			if ns, has := row.Times[s]; has {
				fmt.Fprintf(w, "%13.0f (%5.1f x)", ns/1e3, ns/row.Times[r.Sides[0]])
			} else {
				fmt.Fprintf(w, "%22s", "-")
			}
		}
	}
	fmt.Fprintln(w)
}

// read takes the figures that save wrote.
func (r *Report) read(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, r)
}

// save writes the figures and the picture to the files that are named.
func (r *Report) save(file, svg string) error {
	if file != "" {
		text, err := json.MarshalIndent(r, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o666); err != nil {
			return err
		}
	}
	if svg == "" {
		return nil
	}
	return os.WriteFile(svg, r.picture(), 0o666)
}

// processor returns what Linux calls the processor.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor"
}
