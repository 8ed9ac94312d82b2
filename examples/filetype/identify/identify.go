package identify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// The states of a Result.
const (
	OK         = "ok"
	NotFound   = "file_not_found_error"
	Permission = "permission_error"
	Failed     = "unknown"
)

// A Result is what a file is, in the form of Magika's own results.
type Result struct {
	Path       string      `json:"path"`
	Status     string      `json:"status"`
	Prediction *Prediction `json:"prediction,omitempty"` // of a file that could be read
	Err        error       `json:"-"`                    // why one could not
}

// A Prediction is the type of a file.
type Prediction struct {
	Model     Type    `json:"dl"`     // what the model says, undefined where it was not asked
	Type      Type    `json:"output"` // a generic type where the model is not sure
	Score     float32 `json:"score"`
	Overwrite string  `json:"overwrite_reason"` // why Type is not what the model says
}

// The reasons of a Prediction.
const (
	overwriteNone = "none"
	overwriteLow  = "low_confidence"
	overwriteMap  = "overwrite_map"
)

// Options are ways to look at files.
type Options struct {
	NoDereference bool // a link is a link, not the file that it leads to
	BestGuess     bool // the model's answer counts however unsure it is
}

// batch is the number of files that the model reads at a time.
const batch = 32

// Paths names the types of files, in the order of their paths. What goes wrong with one
// file is in its Result.
func (m *Model) Paths(ctx context.Context, paths []string, o Options) ([]Result, error) {
	out := make([]Result, 0, len(paths))
	for some := range slices.Chunk(paths, batch) {
		results := make([]Result, len(some))
		var rows []int32
		var asked []int
		for i, path := range some {
			numbers, label, err := m.look(path, o)
			results[i] = m.simple(path, label, err)
			if numbers != nil {
				rows, asked = append(rows, numbers...), append(asked, i)
			}
		}
		predictions, err := m.predict(ctx, rows, len(asked), o)
		if err != nil {
			return nil, err
		}
		for k, i := range asked {
			results[i].Prediction = &predictions[k]
		}
		out = append(out, results...)
	}
	return out, nil
}

// Read names the type of what a reader has.
func (m *Model) Read(ctx context.Context, r io.ReaderAt, size int64, o Options) (Prediction, error) {
	numbers, label, err := m.features(r, size)
	if err != nil {
		return Prediction{}, err
	}
	if numbers == nil {
		return *m.simple("", label, nil).Prediction, nil
	}
	p, err := m.predict(ctx, numbers, 1, o)
	if err != nil {
		return Prediction{}, err
	}
	return p[0], nil
}

// look reads what the model wants of a file, or finds a label without the model.
func (m *Model) look(path string, o Options) (numbers []int32, label string, err error) {
	stat := os.Stat
	if o.NoDereference {
		stat = os.Lstat
	}
	info, err := stat(path)
	switch {
	case err != nil:
		return nil, "", err
	case info.IsDir():
		return nil, directory, nil
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, symlink, nil
	case !info.Mode().IsRegular():
		return nil, unknown, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	return m.features(file, info.Size())
}

// simple is the result of a file with a label that needs no model, or with an error.
func (m *Model) simple(path, label string, err error) Result {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Result{Path: path, Status: NotFound, Err: err}
	case errors.Is(err, fs.ErrPermission):
		return Result{Path: path, Status: Permission, Err: err}
	case err != nil:
		return Result{Path: path, Status: Failed, Err: err}
	}
	return Result{Path: path, Status: OK, Prediction: &Prediction{Model: m.types[undefined], Type: m.types[label], Score: 1, Overwrite: overwriteNone}}
}

// predict asks the model about n files.
func (m *Model) predict(ctx context.Context, rows []int32, n int, o Options) ([]Prediction, error) {
	if n == 0 {
		return nil, nil
	}
	x := tensor.From(rows, n, len(rows)/n)
	defer x.Release()
	out, err := m.model.Run(ctx, map[string]tensor.Tensor{"bytes": x})
	if err != nil {
		return nil, err
	}
	defer out["target_label"].Release()
	scores, err := tensor.Data[float32](out["target_label"])
	if err != nil {
		return nil, err
	}
	labels := m.config.Labels
	if len(scores) != n*len(labels) {
		return nil, fmt.Errorf("the model gives %d scores for %d files, want %d each", len(scores), n, len(labels))
	}
	predictions := make([]Prediction, n)
	for i := range predictions {
		row := scores[i*len(labels):][:len(labels)]
		score := slices.Max(row)
		predictions[i] = m.judge(labels[slices.Index(row, score)], score, o)
	}
	return predictions, nil
}

// judge decides whether the model is sure enough.
func (m *Model) judge(label string, score float32, o Options) Prediction {
	c := &m.config
	final, why := label, overwriteNone
	if other, ok := c.Overwrite[label]; ok && other != label {
		final, why = other, overwriteMap
	}
	threshold, ok := c.Thresholds[label]
	if !ok {
		threshold = c.Threshold
	}
	if !o.BestGuess && float64(score) < threshold {
		generic := unknown
		if m.types[final].IsText {
			generic = text
		}
		final, why = generic, overwriteLow
		if final == label {
			why = overwriteNone
		}
	}
	return Prediction{Model: m.types[label], Type: m.types[final], Score: score, Overwrite: why}
}
