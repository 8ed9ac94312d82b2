// Package sentence turns sentences into vectors by a network of BERT's kind, of which
// sentence-transformers/all-MiniLM-L6-v2 is one: sentences that mean much the same have
// vectors that lie close together.
package sentence

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/examples/embed/wordpiece"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

const (
	batch    = 32  // sentences at a time
	most     = 256 // tokens of a sentence, of which the rest is left out
	multiple = 16  // of tokens: shorter sentences are padded, so that few programs serve all
)

// A Model turns sentences into vectors. It may be used from one goroutine at a time.
type Model struct {
	config    config
	tokenizer *wordpiece.Tokenizer
	state     map[string]tensor.Tensor
	dev       device.Device
	forward   *compile.Compiled[tensor.Tensor]
	missing   error
}

// config is the file of the model's sizes.
type config struct {
	Heads  int     `json:"num_attention_heads"`
	Layers int     `json:"num_hidden_layers"`
	Width  int     `json:"hidden_size"`
	Places int     `json:"max_position_embeddings"`
	Eps    float64 `json:"layer_norm_eps"`
	Kind   string  `json:"model_type"`
	Act    string  `json:"hidden_act"`
}

// Load reads a folder with model.safetensors, config.json and vocab.txt.
func Load(folder string, dev device.Device) (*Model, error) {
	m := &Model{dev: dev}
	raw, err := os.ReadFile(filepath.Join(folder, "config.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &m.config); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	if c := m.config; c.Kind != "bert" || c.Act != "gelu" || c.Heads < 1 || c.Width < 1 || c.Width%c.Heads != 0 || c.Places < most {
		return nil, fmt.Errorf("config.json: a network %q with %d heads of %d numbers, %d places and %q is not supported", c.Kind, c.Heads, c.Width, c.Places, c.Act)
	}
	vocabulary, err := os.Open(filepath.Join(folder, "vocab.txt"))
	if err != nil {
		return nil, err
	}
	defer vocabulary.Close()
	if m.tokenizer, err = wordpiece.Read(vocabulary); err != nil {
		return nil, err
	}
	if m.state, _, err = data.LoadTensors(filepath.Join(folder, "model.safetensors"), dev); err != nil {
		return nil, err
	}
	m.forward = compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := m.network(x[0], x[1], x[2])
		return y, cmp.Or(m.missing, y.Err())
	}, compile.Captures())
	return m, nil
}

// Width returns how many numbers a vector has.
func (m *Model) Width() int { return m.config.Width }

// Vectors returns a vector of length 1 for each text.
func (m *Model) Vectors(texts []string) ([][]float32, error) {
	type item struct {
		ids   []int64
		place int
	}
	items := make([]item, len(texts))
	for i, text := range texts {
		items[i] = item{m.tokenizer.Encode(text, most), i}
	}
	// Sentences of about one length go together.
	slices.SortStableFunc(items, func(a, b item) int { return len(a.ids) - len(b.ids) })
	out := make([][]float32, len(texts))
	for some := range slices.Chunk(items, batch) {
		ids := make([][]int64, len(some))
		for i, it := range some {
			ids[i] = it.ids
		}
		vectors, err := m.run(ids)
		if err != nil {
			return nil, err
		}
		for i, it := range some {
			out[it.place] = vectors[i*m.config.Width:][:m.config.Width]
		}
	}
	return out, nil
}

// run computes vectors of tokens, the longest of which are the last.
func (m *Model) run(ids [][]int64) (vectors []float32, err error) {
	err = tensor.Scope(func() error {
		n, length := len(ids), len(ids[len(ids)-1])
		length = (length + multiple - 1) / multiple * multiple
		padded := make([]int64, n*length)
		hidden, weight := make([]float32, n*length), make([]float32, n*length)
		for i, row := range ids {
			copy(padded[i*length:], row)
			for k := range length {
				if k < len(row) {
					weight[i*length+k] = 1 / float32(len(row))
				} else {
					hidden[i*length+k] = float32(math.Inf(-1))
				}
			}
		}
		y, err := m.forward.Call(
			tensor.From(padded, n, length).To(m.dev),
			tensor.From(hidden, n, 1, 1, length).To(m.dev),
			tensor.From(weight, n, 1, length).To(m.dev),
		)
		if err != nil {
			return err
		}
		vectors, err = tensor.Data[float32](y.CPU())
		vectors = slices.Clone(vectors)
		return err
	})
	return vectors, err
}

// parameter returns a tensor of the file.
func (m *Model) parameter(name string) tensor.Tensor {
	t, ok := m.state[name]
	if !ok {
		m.missing = cmp.Or(m.missing, fmt.Errorf("model.safetensors: no tensor %q", name))
	}
	return t
}

func (m *Model) linear(x tensor.Tensor, name string) tensor.Tensor {
	return x.Linear(m.parameter(name+".weight"), tensor.Bias(m.parameter(name+".bias")))
}

func (m *Model) norm(x tensor.Tensor, name string) tensor.Tensor {
	return x.LayerNorm([]int{m.config.Width}, tensor.Weight(m.parameter(name+".weight")), tensor.Bias(m.parameter(name+".bias")), tensor.Eps(m.config.Eps))
}

// network computes vectors [n, width] of tokens [n, t]. Hidden is added to the scores of
// tokens, and weight is what each counts in the mean.
func (m *Model) network(ids, hidden, weight tensor.Tensor) tensor.Tensor {
	n, length := ids.Size(0), ids.Size(1)
	const e = "embeddings."
	x := tensor.Embedding(ids, m.parameter(e+"word_embeddings.weight")).
		Add(m.parameter(e+"position_embeddings.weight").Narrow(0, 0, length)).
		Add(m.parameter(e+"token_type_embeddings.weight").Narrow(0, 0, 1))
	x = m.norm(x, e+"LayerNorm")
	for i := range m.config.Layers {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		heads := func(name string) tensor.Tensor {
			return m.linear(x, layer+"attention.self."+name).Reshape(n, length, m.config.Heads, -1).Transpose(1, 2)
		}
		scale := 1 / math.Sqrt(float64(m.config.Width/m.config.Heads))
		scores := heads("query").MatMul(heads("key").Transpose(2, 3)).MulScalar(scale).Add(hidden)
		seen := scores.Softmax(-1).MatMul(heads("value")).Transpose(1, 2).Reshape(n, length, m.config.Width)
		x = m.norm(m.linear(seen, layer+"attention.output.dense").Add(x), layer+"attention.output.LayerNorm")
		inner := m.linear(x, layer+"intermediate.dense").GELU()
		x = m.norm(m.linear(inner, layer+"output.dense").Add(x), layer+"output.LayerNorm")
	}
	mean := weight.MatMul(x).Reshape(n, m.config.Width)
	return mean.Normalize([]int{1})
}
