package nn

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// line is one row of a summary.
type line struct {
	name, text           string
	parameters, trained  int
	hasParts, hasModules bool
}

// Summary returns a table of the modules of m that do something of their own,
// with the number of elements of their parameters, and totals.
func Summary(m any) string {
	lines, bytes, problems := summarise(m)
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tmodule\tparameters")
	var total, trained int
	for _, l := range lines {
		total += l.parameters
		trained += l.trained
		if l.hasModules && !l.hasParts {
			continue // only holds others
		}
		name := l.name
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\n", name, l.text, l.parameters)
	}
	fmt.Fprintf(w, "total\t%s with buffers\t%d", byteCount(bytes), total)
	if trained != total {
		fmt.Fprintf(w, " (%d trained)", trained)
	}
	fmt.Fprintln(w)
	_ = w.Flush() // a strings.Builder takes everything
	for _, err := range problems {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}

// summarise returns a line for each module, outer before inner, the bytes of the
// model's state, and the errors that its parameters carry. The first line is for what
// belongs to no module.
func summarise(m any) (lines []*line, bytes int, problems []error) {
	open := []*line{{hasModules: true, text: fmt.Sprintf("%T", m)}} // from the outermost to the innermost
	lines = append(lines, open[0])
	walk(m, func(name string, part any) bool {
		for len(open) > 1 && !inside(name, open[len(open)-1].name) {
			open = open[:len(open)-1]
		}
		l := open[len(open)-1]
		switch p := part.(type) {
		case *Parameter:
			if !sound(p.Tensor) {
				problems = append(problems, fmt.Errorf("%s: %w", name, p.Err()))
			}
			l.hasParts = true
			l.parameters += p.NumElements()
			if p.RequiresGrad() {
				l.trained += p.NumElements()
			}
			bytes += p.NumElements() * p.DType().Size()
		case *Buffer:
			l.hasParts = true
			bytes += p.NumElements() * p.DType().Size()
		case Module:
			l.hasModules = true
			l = &line{name: name, text: describe(p)}
			lines, open = append(lines, l), append(open, l)
		}
		return true
	})
	return lines, bytes, problems
}

// inside reports whether name is of something in the module named outer.
func inside(name, outer string) bool {
	return outer == "" || name == outer || strings.HasPrefix(name, outer+".")
}

func describe(m Module) string {
	if s, ok := m.(fmt.Stringer); ok {
		return s.String()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "*")
}

func byteCount(n int) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
