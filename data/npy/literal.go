package npy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// A parser reads the part of Python's literals that headers use.
type parser struct {
	rest string // what is left to read
}

// parseDict reads s, a dictionary whose keys are strings and whose values are
// strings, booleans or tuples of integers, given as string, bool and []int. A
// list, which describes records with fields, is given as rawList. Keys must
// differ; only space may follow.
func parseDict(s string) (map[string]any, error) {
	p := &parser{s}
	if err := p.expect("{"); err != nil {
		return nil, err
	}
	fields := map[string]any{}
	for !p.take("}") {
		key, err := p.text()
		if err != nil {
			return nil, err
		}
		if _, ok := fields[key]; ok {
			return nil, fmt.Errorf("key %q is there twice", key)
		}
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		if fields[key], err = p.value(); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if !p.take(",") {
			if err := p.expect("}"); err != nil {
				return nil, err
			}
			break
		}
	}
	p.space()
	if p.rest != "" {
		return nil, fmt.Errorf("%.20q follows the dictionary", p.rest)
	}
	return fields, nil
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take skips space and then token, and reports whether that was there.
func (p *parser) take(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

func (p *parser) expect(token string) error {
	if !p.take(token) {
		return fmt.Errorf("found %.20q; want %q", p.rest, token)
	}
	return nil
}

func (p *parser) value() (any, error) {
	switch {
	case p.take("True"):
		return true, nil
	case p.take("False"):
		return false, nil
	case p.take("("):
		return p.tuple()
	case strings.HasPrefix(p.rest, "["):
		return p.list()
	}
	return p.text()
}

// text reads a string in single or double quotes, without escapes.
func (p *parser) text() (string, error) {
	p.space()
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", fmt.Errorf("found %.20q; want a string", p.rest)
	}
	s, rest, ok := strings.Cut(p.rest[1:], p.rest[:1])
	if !ok || strings.ContainsAny(s, "\\\n") {
		return "", fmt.Errorf("found %.20q; want a string without escapes", p.rest)
	}
	p.rest = rest
	return s, nil
}

// tuple reads integers, each with a comma after it except the last of several,
// and the closing parenthesis; never nil.
func (p *parser) tuple() ([]int, error) {
	list := []int{}
	for !p.take(")") {
		n := 0
		for n < len(p.rest) && (p.rest[n] >= '0' && p.rest[n] <= '9' || p.rest[n] == '-') {
			n++
		}
		v, err := strconv.Atoi(p.rest[:n])
		if errors.Is(err, strconv.ErrRange) { // of an int, which some platforms have 32 bits of
			return nil, fmt.Errorf("%w: extent %.20s has too many elements", ir.ErrShape, p.rest[:n])
		}
		if err != nil {
			return nil, fmt.Errorf("found %.20q; want an integer", p.rest)
		}
		p.rest = p.rest[n:]
		p.take("L") // as Python 2 marked a long one
		list = append(list, v)
		if p.take(",") {
			continue
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
		if len(list) == 1 {
			return nil, fmt.Errorf("(%d) is a number, not a tuple", v)
		}
		return list, nil
	}
	return list, nil
}

// A rawList is the text of a list.
type rawList string

// list skips a list, the ones within it included.
func (p *parser) list() (rawList, error) {
	start, depth := p.rest, 0
	for i := range len(start) {
		switch start[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				p.rest = start[i+1:]
				return rawList(start[:i+1]), nil
			}
		}
	}
	return "", fmt.Errorf("found %.20q; want a list", start)
}
