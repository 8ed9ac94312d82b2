// Package identify names the types of files by their content, with the model of Magika.
// It reads the same bytes of a file as Magika's Python package, and gives the same
// answers.
package identify

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx"
	"github.com/sinter-go/sinter/runtime/device"
)

// Labels that the model does not give.
const (
	undefined = "undefined"
	unknown   = "unknown"
	text      = "txt"
	empty     = "empty"
	symlink   = "symlink"
	directory = "directory"
)

// A Type is what is known of a label.
type Type struct {
	Label       string   `json:"label"`
	MIME        string   `json:"mime_type"`
	Group       string   `json:"group"`
	Description string   `json:"description"`
	Extensions  []string `json:"extensions"`
	IsText      bool     `json:"is_text"`
}

// config is the file of the model's settings.
type config struct {
	Beginning  int                `json:"beg_size"`
	Middle     int                `json:"mid_size"`
	End        int                `json:"end_size"`
	Offsets    bool               `json:"use_inputs_at_offsets"`
	Threshold  float64            `json:"medium_confidence_threshold"`
	Least      int                `json:"min_file_size_for_dl"`
	Padding    int32              `json:"padding_token"`
	Block      int                `json:"block_size"`
	Labels     []string           `json:"target_labels_space"`
	Thresholds map[string]float64 `json:"thresholds"`
	Overwrite  map[string]string  `json:"overwrite_map"`
}

// A Model names types of files. It may be used from many goroutines.
type Model struct {
	config config
	types  map[string]Type
	model  *onnx.Model
}

// Load reads the model from a folder with model.onnx, config.json and types.json. It
// runs on a device.
func Load(folder fs.FS, dev device.Device) (*Model, error) {
	m := &Model{}
	if err := read(folder, "config.json", &m.config); err != nil {
		return nil, err
	}
	if c := &m.config; c.Middle != 0 || c.Offsets || c.Beginning <= 0 || c.End <= 0 || c.Least < 1 || c.Least > c.Beginning || max(c.Beginning, c.End) > c.Block {
		return nil, fmt.Errorf("config.json: sizes %d, %d and %d of blocks of %d are not supported", c.Beginning, c.Middle, c.End, c.Block)
	}
	if err := m.readTypes(folder); err != nil {
		return nil, err
	}
	var err error
	m.model, err = onnx.LoadFS(folder, "model.onnx", tensor.On(dev))
	return m, err
}

// readTypes reads what is known of labels, and fills in what is left out there.
func (m *Model) readTypes(folder fs.FS) error {
	if err := read(folder, "types.json", &m.types); err != nil {
		return err
	}
	for label, t := range m.types {
		t.Label = label
		mime := "application/octet-stream"
		if t.IsText {
			mime = "text/plain"
		}
		t.MIME, t.Group, t.Description = cmp.Or(t.MIME, mime), cmp.Or(t.Group, unknown), cmp.Or(t.Description, label)
		m.types[label] = t
	}
	for _, label := range slices.Concat(m.config.Labels, []string{undefined, unknown, text, empty, symlink, directory}) {
		if _, ok := m.types[label]; !ok {
			return fmt.Errorf("types.json: the label %q is not there", label)
		}
	}
	return nil
}

// read decodes a file of JSON.
func read(folder fs.FS, name string, v any) error {
	raw, err := fs.ReadFile(folder, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
