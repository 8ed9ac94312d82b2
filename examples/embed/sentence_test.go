package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/examples/embed/sentence"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestVectors compares with the vectors of Python's package sentence-transformers, all at
// once and in reverse order, so that others lie beside each sentence.
func TestVectors(t *testing.T) {
	if _, err := os.Stat("model/model.safetensors"); err != nil {
		t.Skip("no model: python3 examples/models.py embed fetches it")
	}
	m, err := sentence.Load("model", device.CPU)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	sentences := strings.Split(strings.TrimSpace(string(raw)), "\n")
	array, err := data.LoadArray("testdata/vectors.npy", device.CPU)
	if err != nil {
		t.Fatal(err)
	}
	want, err := tensor.Data[float32](array)
	if err != nil {
		t.Fatal(err)
	}
	check := func(got [][]float32, place func(int) int) {
		t.Helper()
		worst := 0.0
		for i, v := range got {
			for k, x := range v {
				worst = max(worst, math.Abs(float64(x-want[place(i)*m.Width()+k])))
			}
		}
		if !(worst <= 1e-5) || len(got) != len(sentences) {
			t.Errorf("%d vectors, %g from the right ones", len(got), worst)
		}
	}
	got, err := m.Vectors(sentences)
	if err != nil {
		t.Fatal(err)
	}
	check(got, func(i int) int { return i })
	reversed := make([]string, len(sentences))
	for i, s := range sentences {
		reversed[len(sentences)-1-i] = s
	}
	if got, err = m.Vectors(reversed); err != nil {
		t.Fatal(err)
	}
	check(got, func(i int) int { return len(sentences) - 1 - i })
	if got, err := m.Vectors(nil); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
}

// TestModelErrors gives folders that are not a model's.
func TestModelErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, body string) {
		t.Helper()
		if err := os.WriteFile(dir+"/"+name, []byte(body), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ name, body, want string }{
		{"other", "", "config.json"},
		{"config.json", "{", "config.json"},
		{"config.json", `{"model_type": "gpt2"}`, `"gpt2"`},
		{"config.json", `{"model_type": "bert", "hidden_act": "gelu", "num_attention_heads": 2, "hidden_size": 8, "max_position_embeddings": 512, "num_hidden_layers": 1}`, "vocab.txt"},
		{"vocab.txt", "a\nb\n", "[PAD]"},
		{"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n", "model.safetensors"},
	} {
		write(step.name, step.body)
		if _, err := sentence.Load(dir, device.CPU); err == nil || !strings.Contains(err.Error(), step.want) {
			t.Errorf("with %s %q: %v, want it to say %s", step.name, step.body, err, step.want)
		}
	}
	empty := map[string]tensor.Tensor{"other": tensor.Zeros([]int{1})}
	if err := data.SaveTensors(dir+"/model.safetensors", empty); err != nil {
		t.Fatal(err)
	}
	m, err := sentence.Load(dir, device.CPU)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Vectors([]string{"a"}); err == nil || !strings.Contains(err.Error(), "embeddings.word_embeddings.weight") {
		t.Errorf("without parameters: %v", err)
	}
}
