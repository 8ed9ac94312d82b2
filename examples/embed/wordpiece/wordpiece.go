// Package wordpiece makes the tokens of BERT's models without regard to case, as the
// Python package tokenizers does. That one knows marks and punctuation of Unicode 8; the
// some hundred later ones are words there and what they are here.
package wordpiece

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A Tokenizer has a vocabulary. It may be used from many goroutines.
type Tokenizer struct {
	ids                  map[string]int64
	special              []string
	unknown, first, last int64
	longest              int // bytes of a token
}

// longestWord is the number of characters from which on a word is unknown.
const longestWord = 100

// Read reads a vocabulary, which has one token a line.
func Read(r io.Reader) (*Tokenizer, error) {
	t := &Tokenizer{ids: map[string]int64{}, special: []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		token := lines.Text()
		t.ids[token] = int64(len(t.ids))
		t.longest = max(t.longest, len(token))
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, s := range t.special {
		if _, ok := t.ids[s]; !ok {
			return nil, fmt.Errorf("wordpiece: the vocabulary of %d tokens has no %s", len(t.ids), s)
		}
	}
	t.unknown, t.first, t.last = t.ids["[UNK]"], t.ids["[CLS]"], t.ids["[SEP]"]
	return t, nil
}

// Encode returns the tokens of a text, at most a number of them, with the marks of the
// beginning and of the end.
func (t *Tokenizer) Encode(text string, most int) []int64 {
	ids := []int64{t.first}
	for text != "" {
		at, mark := t.mark(text)
		for _, word := range words(text[:at]) {
			ids = t.pieces(ids, word)
		}
		if mark != "" {
			ids = append(ids, t.ids[mark])
		}
		text = text[at+len(mark):]
	}
	return append(ids[:min(len(ids), max(most-1, 1))], t.last)
}

// mark finds the first of the tokens that stand for themselves in a text.
func (t *Tokenizer) mark(text string) (at int, mark string) {
	at = len(text)
	for _, s := range t.special {
		if i := strings.Index(text[:min(len(text), at+len(s))], s); i >= 0 && i < at {
			at, mark = i, s
		}
	}
	return at, mark
}

// pieces appends the longest tokens that a word is made of, or that it is unknown.
func (t *Tokenizer) pieces(ids []int64, word string) []int64 {
	if len([]rune(word)) > longestWord {
		return append(ids, t.unknown)
	}
	begin := len(ids)
	prefix := ""
	for word != "" {
		end := min(len(word), t.longest)
		id, ok := t.ids[prefix+word[:end]]
		for !ok && end > 1 {
			end--
			id, ok = t.ids[prefix+word[:end]]
		}
		if !ok {
			return append(ids[:begin], t.unknown)
		}
		ids = append(ids, id)
		word, prefix = word[end:], "##"
	}
	return ids
}

// words splits a text at white space, and around punctuation and Chinese characters,
// after accents and differences of case are gone.
func words(text string) []string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			b.WriteByte(' ')
		case r == unicode.ReplacementChar || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case chinese(r):
			b.WriteString(" " + string(r) + " ")
		default:
			b.WriteRune(r)
		}
	}
	var out []string
	for _, field := range strings.Fields(norm.NFD.String(b.String())) {
		var word []rune
		flush := func() {
			if len(word) > 0 {
				out, word = append(out, string(word)), nil
			}
		}
		for _, r := range field {
			switch {
			case unicode.Is(unicode.Mn, r):
			case punctuation(r):
				flush()
				out = append(out, string(r))
			default:
				word = append(word, unicode.ToLower(r))
			}
		}
		flush()
	}
	return out
}

// punctuation includes all signs of ASCII.
func punctuation(r rune) bool {
	return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~' || unicode.IsPunct(r)
}

// chinese reports whether a character is a word of its own.
func chinese(r rune) bool {
	for _, block := range [][2]rune{{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F}} {
		if block[0] <= r && r <= block[1] {
			return true
		}
	}
	return false
}
