package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
)

//go:embed beside.py
var script string

// torchSide runs rows in a python3 that has PyTorch.
type torchSide struct{ *process }

// A process answers lines with lines of JSON.
type process struct {
	name    string
	command *exec.Cmd
	ask     io.WriteCloser
	answers chan answer
	patient time.Duration // longest wait for an answer
	about   answer        // the line that it begins with
}

// An answer is a line of beside.py, or of native.c.
type answer struct {
	Error   string  `json:"error"`
	Seconds float64 `json:"seconds"`
	Version string  `json:"version"`
	Device  string  `json:"device"`
	Threads int     `json:"threads"`
	Work    float64 `json:"work"` // of a call, where the row does not say it
}

// startTorch starts python3 with PyTorch on a device. The error says why there is
// none.
func startTorch(ctx context.Context, dev device.Device) (*torchSide, error) {
	name := dev.String()
	return startSide(exec.CommandContext(ctx, "python3", "-c", script, name))
}

// startSide starts a command that talks as beside.py does.
func startSide(command *exec.Cmd) (*torchSide, error) {
	p, err := startProcess(command, "PyTorch's side")
	return &torchSide{p}, err
}

// startProcess starts a command that answers lines.
func startProcess(command *exec.Cmd, name string) (*process, error) {
	t := &process{name: name, command: command, patient: 5 * time.Minute}
	said := &tail{}
	t.command.Stderr = said
	var err error
	if t.ask, err = t.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := t.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.command.Start(); err != nil {
		return nil, err
	}
	t.answers = make(chan answer)
	go func() {
		defer close(t.answers)
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			var a answer
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				a.Error = fmt.Sprintf("%s said %q", name, lines.Text())
			}
			t.answers <- a
		}
	}()
	if t.about, err = t.await(); err != nil {
		t.close()
		return nil, errors.Join(err, said.err())
	}
	return t, nil
}

// await returns the next answer.
func (t *process) await() (answer, error) {
	select {
	case a, open := <-t.answers:
		switch {
		case !open:
			return a, errors.New(t.name + " ended")
		case a.Error != "":
			return a, errors.New(a.Error)
		}
		return a, nil
	case <-time.After(t.patient):
		return answer{}, fmt.Errorf("%s did not answer for %s", t.name, t.patient)
	}
}

// do asks for something.
func (t *torchSide) do(what map[string]any) (answer, error) {
	line, err := json.Marshal(what)
	if err != nil {
		return answer{}, err
	}
	return t.say(string(line))
}

// say asks for something by a line.
func (t *process) say(line string) (answer, error) {
	if _, err := io.WriteString(t.ask, line+"\n"); err != nil {
		return answer{}, fmt.Errorf("asking %s: %w", t.name, err)
	}
	return t.await()
}

func (t *torchSide) prepare(r *row, sets int) error {
	in := r.in
	if in == nil {
		in = []operand{}
	}
	_, err := t.do(map[string]any{
		"do": "prepare", "in": in, "sets": sets, "statement": r.torch, "setup": r.setup, "clock": r.clock, "tf32": r.tf32, "threads": r.threads,
		"attrs": r.attrs, "gradients": r.gradients,
	})
	return err
}

func (t *torchSide) batch(n int) (float64, error) {
	a, err := t.do(map[string]any{"do": "batch", "n": n})
	return a.Seconds, err
}

func (t *torchSide) drop() error {
	_, err := t.do(map[string]any{"do": "drop"})
	return err
}

// close ends the process.
func (t *process) close() {
	_ = t.ask.Close()
	for range t.answers { // until it ends
	}
	_ = t.command.Wait()
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	const most = 2000
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-most):]
	return len(b), nil
}

func (t *tail) err() error {
	if text := strings.TrimSpace(string(t.text)); text != "" {
		return errors.New(text)
	}
	return nil
}
