// Command bench measures sinter on the machine it runs on, and beside it PyTorch
// where python3 can import torch: the host's cost of a call, the bandwidth that
// kernels reach, matrix products, copies, training steps, the first operator of a
// process, and every operator of the schema. On a CPU every row has one thread, then
// two, then one for each processor, and beside it is also what
// gcc makes of plain loops and, where the system has it, OpenBLAS.
//
//	go run ./cmd/bench [-device cpu|cuda] [-rows regexp] [-json file] [-before file] [-torch auto|off] [-quick] [-compiled] [-misses] [-used]
//
// Both sides do the same work on fresh random numbers, with the flags of
// precision set alike. Where caches could help, operands rotate through more
// memory than they hold. After warm-up the sides take turns, and a figure is the
// median over the rounds. Device time is between two events around a batch of
// calls, host time the time a batch of calls takes to return.
//
// The table has a line a row: the figures, ours over PyTorch's, and what the row
// should reach. -json writes the same with the spread of the rounds, and -before
// compares with what an older program wrote so on the same machine. -compiled
// adds what PyTorch compiles or replays from a graph, which takes it minutes, and
// what there is no operator for here yet; an interrupt ends the run with the rows
// so far; -used takes the time of processors rather than the time that passes;
// -misses prints the rows alone that miss their target or failed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"regexp"

	"github.com/sinter-go/sinter/runtime/device"
)

// settings are the command's flags.
type settings struct {
	device   string
	rows     string
	json     string
	before   string
	torch    string
	quick    bool
	compiled bool
	misses   bool
	used     bool
}

func main() {
	var s settings
	flag.StringVar(&s.device, "device", "auto", "where to measure: auto, cpu or cuda; auto takes a GPU where there is one")
	flag.StringVar(&s.rows, "rows", "", "regular expression: measure the rows it matches")
	flag.StringVar(&s.json, "json", "", "file to write the results to as JSON")
	flag.StringVar(&s.before, "before", "", "file that -json wrote on this machine: print how the rows have changed since")
	flag.StringVar(&s.torch, "torch", "auto", "PyTorch beside it: auto, where python3 can import it, or off")
	flag.BoolVar(&s.quick, "quick", false, "small sizes and few rounds: shows that every row runs, and no more")
	flag.BoolVar(&s.compiled, "compiled", false, "add rows of torch.compile and of CUDA graphs")
	flag.BoolVar(&s.misses, "misses", false, "print the rows alone that miss their target or failed")
	flag.BoolVar(&s.used, "used", false, "on a CPU: take the time of processors for rows with one thread, where others use the machine, too")
	flag.Parse()
	if os.Getenv(childVariable) != "" {
		exit(child(os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	exit(run(ctx, os.Stdout, s))
}

func exit(err error) {
	if err != nil {
		slog.Error("bench", "error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// choose returns the device that a name stands for.
func choose(name string) (device.Device, error) {
	if name == "auto" {
		return device.Best(), nil
	}
	d, err := device.Parse(name)
	if err != nil {
		return device.Device{}, err
	}
	d, _, err = device.Find(d)
	return d, err
}

func run(ctx context.Context, w io.Writer, s settings) (err error) {
	dev, err := choose(s.device)
	if err != nil {
		return err
	}
	match, err := regexp.Compile(s.rows)
	if err != nil {
		return fmt.Errorf("flag -rows: %w", err)
	}
	if s.torch != "auto" && s.torch != "off" {
		return fmt.Errorf("flag -torch is %q; auto and off are accepted", s.torch)
	}
	b := newBench(dev, s.quick)
	rows := choice(b.workload.rows(s.compiled), match)
	if len(rows) == 0 {
		return errors.New("flag -rows matches no row")
	}
	end, err := b.startSides(ctx, w, s)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return err
	}
	rep := report{Machine: describe(dev, b.torch, b.native), Quick: s.quick}
	for _, r := range rows {
		if s.used && r.threads == 1 && dev.Kind == device.KindCPU {
			r.clock = usedTime
		}
		o := b.measure(ctx, r)
		if ctx.Err() != nil { // the rows before it are worth showing
			break
		}
		rep.Rows = append(rep.Rows, o)
	}
	rep.judge()
	if err := rep.print(w, s.misses); err != nil {
		return err
	}
	if s.before != "" {
		if err := rep.printChanges(w, s.before); err != nil {
			return err
		}
	}
	if s.json == "" {
		return ctx.Err()
	}
	text, err := json.MarshalIndent(rep, "", " ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(s.json, append(text, '\n'), 0o644), ctx.Err())
}

// startSides starts what the rows are measured beside, and says what is not there. The function that
// it returns ends it, also after an error.
func (b *bench) startSides(ctx context.Context, w io.Writer, s settings) (end func() error, err error) {
	end = func() error { return nil }
	if s.torch == "auto" {
		t, err := startTorch(ctx, b.ours.dev)
		if err != nil {
			fmt.Fprintf(w, "without PyTorch: %v\n", err)
		} else {
			b.torch = t
			end = func() error { t.close(); return nil }
		}
	}
	if b.ours.dev.Kind != device.KindCPU {
		return end, nil
	}
	if !s.quick {
		n, err := startNative(ctx)
		if err != nil {
			fmt.Fprintf(w, "without the native side: %v\n", err)
		} else {
			b.native, b.limits = n.loops, n.limits
			before := end
			end = func() error { return errors.Join(n.close(), before()) }
		}
	}
	b.processors, err = findProcessors(b.children()...)
	return end, err
}

// choice returns the rows that match, and before them those they refer to.
func choice(rows []row, match *regexp.Regexp) (out []row) {
	needed := map[string]bool{}
	for _, r := range rows {
		if match.MatchString(r.name) {
			for _, t := range r.targets {
				needed[t.of] = true
			}
		}
	}
	for _, r := range rows {
		if match.MatchString(r.name) || needed[r.name] {
			out = append(out, r)
		}
	}
	return out
}
