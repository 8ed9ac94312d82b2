package ptx

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// A Text is PTX, divided into the statements of its top level.
type Text struct {
	statements []statement
	defined    map[string][]int // statements by name; declaration and definition of a function are two
}

// A statement is a directive, a variable or a function.
type statement struct {
	text  []byte
	name  string // of what it defines or declares; "" for those that hold for all, such as .version
	entry bool   // a kernel
}

// Divide divides a PTX text. Directives of the module end with their line,
// variables and declarations with a semicolon, functions with their closing brace.
func Divide(text []byte) *Text {
	text = bytes.TrimRight(text, "\x00")
	p := &Text{defined: map[string][]int{}}
	for {
		text = skipBlank(text)
		if len(text) == 0 {
			return p
		}
		n := statementLength(text)
		s := parse(text[:n])
		if s.name != "" {
			p.defined[s.name] = append(p.defined[s.name], len(p.statements))
		}
		p.statements = append(p.statements, s)
		text = text[n:]
	}
}

// Trim returns the text of one kernel and the functions and variables that it
// reaches, in their order. The driver's compile time is that of the kernel then.
// A variable that kernels share is another one in each text: kernels that talk
// through device variables cannot be trimmed.
func (p *Text) Trim(kernel string) ([]byte, error) {
	if !slices.ContainsFunc(p.defined[kernel], func(i int) bool { return p.statements[i].entry }) {
		return nil, fmt.Errorf("the module's PTX has no kernel %s", kernel)
	}
	keep := make([]bool, len(p.statements))
	todo := []string{kernel}
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, i := range p.defined[name] {
			if !keep[i] {
				keep[i] = true
				todo = append(todo, p.identifiers(p.statements[i].text)...)
			}
		}
	}
	var out bytes.Buffer
	for i, s := range p.statements {
		if keep[i] || s.name == "" {
			out.Write(s.text)
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}

// With returns the text and a kernel after it, which may call its functions.
func (p *Text) With(kernel []byte) *Text {
	s := parse(kernel)
	more := &Text{append(slices.Clip(p.statements), s), maps.Clone(p.defined)}
	more.defined[s.name] = []int{len(p.statements)}
	return more
}

// identifiers returns the defined names that text mentions.
func (p *Text) identifiers(text []byte) []string {
	var out []string
	for i := 0; i < len(text); {
		n := wordLength(text[i:])
		if n == 0 {
			i++
			continue
		}
		if _, is := p.defined[string(text[i:i+n])]; is {
			out = append(out, string(text[i:i+n]))
		}
		i += n
	}
	return out
}

// global are the directives that end with their line.
var global = [...]string{".version", ".target", ".address_size"}

// structural reports whether statementLength looks at a byte.
func structural(b byte) bool {
	switch b {
	case '"', '/', '{', '}', '=', ';':
		return true
	}
	return false
}

func statementLength(text []byte) int {
	for _, directive := range global {
		if bytes.HasPrefix(text, []byte(directive)) {
			return lineLength(text)
		}
	}
	function := true // until an equals sign says that braces hold a variable's values
	for depth, i := 0, 0; i < len(text); i++ {
		if !structural(text[i]) {
			continue
		}
		switch text[i] {
		case '"':
			i += max(bytes.IndexByte(text[i+1:], '"'), 0) + 1
		case '/':
			i += max(commentLength(text[i:])-1, 0)
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 && function {
				return i + 1
			}
		case '=':
			function = function && depth > 0
		case ';':
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// parse finds the name: the first word that is no directive and no number, outside
// parentheses, which hold a function's result before its name.
func parse(text []byte) statement {
	s := statement{text: text}
	for depth, i := 0, 0; i < len(text); {
		n := wordLength(text[i:])
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '.':
			n = 1 + wordLength(text[i+1:])
			s.entry = s.entry || depth == 0 && string(text[i:i+n]) == ".entry"
			for _, directive := range global {
				if string(text[i:i+n]) == directive {
					return s
				}
			}
		case n > 0 && depth == 0 && (c < '0' || c > '9'):
			s.name = string(text[i : i+n])
			return s
		}
		i += max(n, 1)
	}
	return s
}

// skipBlank skips blanks and comments.
func skipBlank(text []byte) []byte {
	for {
		text = bytes.TrimLeft(text, " \t\r\n")
		n := commentLength(text)
		if n == 0 {
			return text
		}
		text = text[n:]
	}
}

// commentLength returns the length of the comment that text begins with, or 0.
func commentLength(text []byte) int {
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		return lineLength(text)
	case bytes.HasPrefix(text, []byte("/*")):
		if n := bytes.Index(text[2:], []byte("*/")); n >= 0 {
			return n + 4
		}
		return len(text)
	}
	return 0
}

func lineLength(text []byte) int {
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

// inWord reports whether a byte is one of identifiers and numbers.
func inWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '$' || b == '%'
}

func wordLength(text []byte) int {
	n := 0
	for n < len(text) && inWord(text[n]) {
		n++
	}
	return n
}
