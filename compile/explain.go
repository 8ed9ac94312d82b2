package compile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	fmt.Fprintf(&out, "; %d results are written over operands\n%d steps:\n", s.Shared, s.Steps)
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
	return out.String()
}
