package main

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/examples/embed/wordpiece"
)

// TestTokens compares with the tokens of Python's package tokenizers.
func TestTokens(t *testing.T) {
	vocabulary, err := os.Open("model/vocab.txt")
	if err != nil {
		t.Skip("no model: python3 examples/models.py embed fetches it")
	}
	defer vocabulary.Close()
	tokenizer, err := wordpiece.Read(vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.Open("testdata/tokens.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	var cases [][2]json.RawMessage
	if err := json.NewDecoder(r).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		var text string
		var want []int64
		if err := json.Unmarshal(c[0], &text); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c[1], &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tokenizer.Encode(text, 256)); diff != "" {
			t.Errorf("%+q: %s", text, diff)
		}
	}
}

// TestEncode needs no model.
func TestEncode(t *testing.T) {
	tokenizer, err := wordpiece.Read(strings.NewReader(strings.Join([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##able", "able", "!", "e"}, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		text string
		most int
		want []int64
	}{
		{"", 9, []int64{2, 3}},
		{"Unable", 9, []int64{2, 5, 6, 3}},
		{"able unq\t!\xff", 9, []int64{2, 7, 1, 8, 3}},
		{"é[MASK]e[X]", 9, []int64{2, 9, 4, 9, 1, 1, 1, 3}},
		{"unable able", 4, []int64{2, 5, 6, 3}},
		{"able", 0, []int64{2, 3}},
	} {
		if diff := cmp.Diff(test.want, tokenizer.Encode(test.text, test.most)); diff != "" {
			t.Errorf("%q: %s", test.text, diff)
		}
	}
	if _, err := wordpiece.Read(strings.NewReader("a\nb")); err == nil || !strings.Contains(err.Error(), "[PAD]") {
		t.Errorf("without special tokens: %v", err)
	}
}
