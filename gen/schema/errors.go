package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// String returns the position as file:line:col.
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// An Error is one mistake in a schema.
type Error struct {
	Pos Pos
	Op  string // operator whose entry is wrong, or "" outside entries
	Msg string
}

// Error returns the mistake as "file:line:col: op name: message".
func (e *Error) Error() string {
	if e.Op == "" {
		return fmt.Sprintf("%v: %s", e.Pos, e.Msg)
	}
	return fmt.Sprintf("%v: op %s: %s", e.Pos, e.Op, e.Msg)
}

// Errors is every mistake found in one schema, sorted by position.
type Errors []*Error

// Error returns the mistakes, one a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes as separate errors, for errors.As.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// A reporter collects the mistakes of one file.
type reporter struct {
	errs Errors
	op   string // operator being read
}

func (r *reporter) errorf(pos Pos, format string, args ...any) {
	r.errs = append(r.errs, &Error{Pos: pos, Op: r.op, Msg: shortened(fmt.Sprintf(format, args...))})
}

// longest is how many bytes a message has at most: it may quote what is in the file.
const longest = 1000

func shortened(msg string) string {
	if len(msg) <= longest {
		return msg
	}
	head, tail := msg[:longest*3/4], msg[len(msg)-longest/4:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf(" ... (%d bytes) ... ", len(msg)-len(head)-len(tail)) + strings.ToValidUTF8(tail, "")
}

// err returns what was reported, sorted and without repetitions, or nil.
func (r *reporter) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(r.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return slices.CompactFunc(r.errs, func(a, b *Error) bool { return *a == *b })
}
