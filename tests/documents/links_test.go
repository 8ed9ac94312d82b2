package documents_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	linked  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`^#{1,6} +(.*?) *#*$`)
	linkIn  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors returns the names that headings of a document have as link targets, as
// GitHub makes them: lower case, without punctuation, with dashes for spaces, and a
// number after a name that was there before.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(outsideFences(text)) {
		m := heading.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, linkIn.ReplaceAllString(m[1], "$1"))
		for base, n := name, 1; out[name]; n++ {
			name = base + "-" + string(rune('0'+n))
		}
		out[name] = true
	}
	return out
}

// outsideFences returns text with the lines of fenced blocks left empty.
func outsideFences(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
			fenced = !fenced
			line = "\n"
		}
		if fenced {
			line = "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// TestLinks looks for the file and the heading of every link of every document that
// leads to this repository.
func TestLinks(t *testing.T) {
	links := 0
	for _, name := range documents(t) {
		for _, m := range linked.FindAllStringSubmatch(quoted.ReplaceAllString(outsideFences(read(t, name)), ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if path != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(name), path))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
				continue
			}
			if anchor != "" && !anchors(read(t, target))[anchor] {
				t.Errorf("%s: %s has no heading for the link %s", name, target, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("found %d links", links)
	}
}

// TestAnchors holds the names of headings to those that GitHub gives.
func TestAnchors(t *testing.T) {
	found := anchors("# The language: `ir`, `ir/expr`\n\n## Twice\n\n```text\n# no heading\n```\n\n## Twice\n\n### [A link](x.md) & more\n")
	for _, want := range []string{"the-language-ir-irexpr", "twice", "twice-1", "a-link--more"} {
		if !found[want] {
			t.Errorf("no anchor %q in %v", want, found)
		}
	}
	if len(found) != 4 {
		t.Errorf("%d anchors; want 4: %v", len(found), found)
	}
}
