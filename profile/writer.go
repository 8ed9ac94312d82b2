package profile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/caller"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/observe"
)

// host is the process of the trace that shows goroutines.
var host = device.CPU

// A slice is what a trace shows of a piece of work.
type slice struct {
	name, category string
	details
}

// details are what a trace shows of work that is clicked on.
type details struct {
	Line    string   `json:"line,omitempty"` // of the program
	Kernel  string   `json:"kernel,omitempty"`
	Code    string   `json:"code,omitempty"`    // that the device ran
	Results []string `json:"results,omitempty"` // dtype and shape of each
	Reads   []string `json:"reads,omitempty"`
	Bytes   int64    `json:"bytes,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// describe returns what is shown of work.
func describe(w observe.Work) slice {
	s := slice{name: w.What, category: "copy", details: details{Line: w.Line, Bytes: w.Bytes}}
	if s.Line == "" {
		s.Line = caller.Line()
	}
	if c := w.Call; c != nil {
		s.name, s.category = c.Op.Name, "operator"
		s.Kernel, s.Results, s.Reads = c.Kernel.String(), views(c.Out), views(c.In)
	}
	return s
}

func views(list []ir.View) []string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = fmt.Sprintf("%s%d", v.DType, v.Shape)
	}
	return texts
}

// An event is an entry of the Trace Event Format.
type event struct {
	Name     string  `json:"name"`
	Category string  `json:"cat,omitempty"`
	Phase    string  `json:"ph"`
	Time     float64 `json:"ts"` // us
	Duration float64 `json:"dur,omitempty"`
	Process  int     `json:"pid"`
	Thread   uint64  `json:"tid"`
	ID       int     `json:"id,omitempty"`
	Bind     string  `json:"bp,omitempty"`
	Args     any     `json:"args,omitempty"`
}

// A writer writes a trace. The profile's lock guards it.
type writer struct {
	to      *bufio.Writer
	err     error // the first of writing
	zero    time.Time
	written bool // an event, after which a comma follows
	arrows  int

	processes map[device.Device]int
	threads   map[thread]bool
	held      map[device.Device]int64 // bytes that were shown last
}

type thread struct {
	process int
	id      uint64
}

func newWriter(w io.Writer) *writer {
	o := &writer{
		to: bufio.NewWriter(w), zero: time.Now(), processes: map[device.Device]int{}, threads: map[thread]bool{},
		held: map[device.Device]int64{},
	}
	_, o.err = o.to.WriteString(`{"displayTimeUnit":"ns","traceEvents":[`)
	return o
}

// goroutine returns the calling goroutine's number, read from its stack trace.
func (o *writer) goroutine() uint64 {
	var buf [64]byte
	line := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	number, _, _ := bytes.Cut(line, []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64)
	return id
}

// microseconds of a time since the profile began.
func (o *writer) since(t time.Time) float64 { return float64(t.Sub(o.zero)) / 1e3 }

// slice writes work of a stream, or of a goroutine where the device is the host.
func (o *writer) slice(d device.Device, track uint64, s slice, began time.Time, took time.Duration) {
	p := o.process(d)
	o.name(d, p, track)
	o.put(event{
		Name: s.name, Category: s.category, Phase: "X", Time: o.since(began), Duration: float64(took) / 1e3,
		Process: p, Thread: track, Args: s.details,
	})
}

// arrow begins an arrow at a call of a goroutine, and returns its number.
func (o *writer) arrow(track uint64, at time.Time) int {
	o.arrows++
	o.put(event{Name: "given", Category: "stream", Phase: "s", Time: o.since(at), Process: o.process(host), Thread: track, ID: o.arrows})
	return o.arrows
}

// arrive ends an arrow at work of a stream.
func (o *writer) arrive(d device.Device, stream uint64, arrow int, at time.Time) {
	o.put(event{Name: "given", Category: "stream", Phase: "f", Bind: "e", Time: o.since(at), Process: o.process(d), Thread: stream, ID: arrow})
}

// memory writes how many bytes tensors hold on an accelerator, if that has changed.
func (o *writer) memory(d device.Device, at time.Time) {
	if !d.Accelerator() {
		return
	}
	held := memory.Allocated(d)
	if last, known := o.held[d]; known && last == held {
		return
	}
	o.held[d] = held
	o.put(event{Name: "memory", Phase: "C", Time: o.since(at), Process: o.process(d), Args: map[string]int64{"allocated bytes": held}})
}

// process returns the trace's number of a device, and names it the first time.
func (o *writer) process(d device.Device) int {
	p, known := o.processes[d]
	if !known {
		p = len(o.processes) + 1
		o.processes[d] = p
		name := d.String()
		if d == host {
			name = "program and cpu"
		}
		o.put(event{Name: "process_name", Phase: "M", Process: p, Args: map[string]string{"name": name}})
	}
	return p
}

// inside is set in tracks of streams that graphs and libraries have, which are told by the
// device's numbers.
const inside = 1 << 62

// name names a track the first time.
func (o *writer) name(d device.Device, p int, track uint64) {
	if o.threads[thread{p, track}] {
		return
	}
	o.threads[thread{p, track}] = true
	name := fmt.Sprint("stream ", track)
	switch {
	case d == host:
		name = fmt.Sprint("goroutine ", track)
	case track == 0:
		name = "default stream"
	case track&inside != 0:
		name = fmt.Sprint("inside, stream ", track&^inside)
	}
	o.put(event{Name: "thread_name", Phase: "M", Process: p, Thread: track, Args: map[string]string{"name": name}})
}

// put writes an event.
func (o *writer) put(e event) {
	if o.err != nil {
		return
	}
	text, err := json.Marshal(e)
	if err == nil && o.written {
		err = o.to.WriteByte(',')
	}
	if err == nil {
		err = o.to.WriteByte('\n')
	}
	if err == nil {
		_, err = o.to.Write(text)
	}
	o.written, o.err = true, err
}

// close completes the trace.
func (o *writer) close() error {
	if o.err == nil {
		_, o.err = o.to.WriteString("\n]}\n")
	}
	if o.err == nil {
		o.err = o.to.Flush()
	}
	return o.err
}
