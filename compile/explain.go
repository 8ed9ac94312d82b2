package compile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/runtime/core"
)

// Explain says in words what the program that was used latest does: steps by operator,
// memory, and why the function was recorded again.
func (c *Compiled[T]) Explain() string {
	p := c.Program()
	if p == nil {
		return "nothing was recorded yet"
	}
	s := c.Stats()
	var out strings.Builder
	fmt.Fprintf(&out, "%d calls, %d recordings in %v, %d programs kept\n", s.Calls, s.Traces, s.Tracing, s.Plans)
	if s.Retraced != "" {
		fmt.Fprintf(&out, "recorded again for a change of %s\n", s.Retraced)
	}
	fmt.Fprintf(&out, "memory: %d bytes at most, %d in eager code", s.Peak, s.Eager)
	if s.Eager > 0 {
		fmt.Fprintf(&out, " (%.2f)", float64(s.Peak)/float64(s.Eager))
	}
	fmt.Fprintf(&out, "; %d results are written over operands", s.Shared)
	if s.Moved {
		out.WriteString("; steps run in another order than the calls, which needs less")
	}
	if s.Again > 0 {
		fmt.Fprintf(&out, "; %d values are computed again and not kept", s.Again)
	}
	if s.Saved > 0 {
		fmt.Fprintf(&out, "; %d bytes are kept for the backward pass", s.Saved)
	}
	moved, least := p.Bytes()
	fmt.Fprintf(&out, "\n%d steps, which move %d bytes; what they are given and give is %d:\n", s.Steps, moved, least)
	switch {
	case s.OneByOne != "":
		fmt.Fprintf(&out, "  given to devices call by call: %s\n", s.OneByOne)
	case s.Nodes > 0:
		fmt.Fprintf(&out, "  given to the device as one graph of %d nodes\n", s.Nodes)
	default:
		out.WriteString("  given to the device as one graph from the second run on\n")
	}
	times := map[string]int{}
	for i := range p.Steps {
		times[p.Steps[i].Name()]++
	}
	names := slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		fmt.Fprintf(&out, "  %4d %s\n", times[name], name)
	}
	explainFused(&out, c.fused())
	return out.String()
}

// explainFused says which operators became one kernel, and why others did not.
func explainFused(out *strings.Builder, f *core.Fused) {
	for i := range f.Regions {
		r := &f.Regions[i]
		fmt.Fprintf(out, "one kernel of %s, of %s: moves %d bytes, one by one %d\n", strings.Join(r.Ops, ", "), strings.Join(r.Lines(), ", "), r.Bytes, r.Eager)
	}
	for i := range f.Direct {
		r := &f.Direct[i]
		fmt.Fprintf(out, "no kernel of %s, of %s: %s, which saves %d bytes\n", r.Ops[0], strings.Join(r.Lines(), ", "), r.Why, r.Eager)
	}
	for i := range f.Pooled {
		r := &f.Pooled[i]
		fmt.Fprintf(out, "%s runs behind %s, of %s: saves %d bytes\n", r.Ops[0], r.Ops[1], strings.Join(r.Lines(), ", "), r.Eager-r.Bytes)
	}
	for i := range f.Last {
		r := &f.Last[i]
		fmt.Fprintf(out, "channels are last in memory between %d convolutions, of %s: saves %d bytes\n", len(r.Ops), strings.Join(r.Lines(), ", "), r.Eager-r.Bytes)
	}
	for i := range f.Alone {
		r := &f.Alone[i]
		fmt.Fprintf(out, "%s by itself, of %s: %s; moves %d bytes\n", r.Ops[0], strings.Join(r.Lines(), ", "), r.Why, r.Bytes)
	}
}
