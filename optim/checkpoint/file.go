package checkpoint

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/data/safetensors"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/random"
)

// version is the layout of checkpoints that this package writes and reads.
const version = "1"

// Names in a checkpoint's file.
const (
	modelPrefix     = "model."     // of tensors
	optimizerPrefix = "optimizer." // of tensors
	userPrefix      = "user."      // of metadata

	versionKey    = "checkpoint.version"
	seedKey       = "random.seed"          // int64
	offsetKey     = "random.offset"        // int64
	stepKey       = "scheduler.step"       // int
	baseKey       = "scheduler.base"       // float64
	parametersKey = "optimizer.parameters" // names, one a line
)

// numbers returns the metadata that is not the program's or about tensors.
func numbers(s State) map[string]string {
	r := generator(s).State()
	out := map[string]string{
		versionKey: version,
		seedKey:    strconv.FormatInt(r.Seed, 10),
		offsetKey:  strconv.FormatInt(r.Offset, 10),
	}
	if s.Scheduler != nil {
		at := s.Scheduler.State()
		out[stepKey] = strconv.Itoa(at.Step)
		out[baseKey] = strconv.FormatFloat(at.Base, 'g', -1, 64)
	}
	return out
}

// file is a checkpoint that was read.
type file struct {
	model, optimizer map[string]tensor.Tensor // without their prefixes; optimizer is nil when there is none
	parameters       string                   // of the optimizer
	scheduler        *optim.SchedulerState    // nil when there is none
	random           random.State
	user             map[string]string
}

// divide sorts the contents of a file.
func divide(tensors map[string]tensor.Tensor, metadata map[string]string) (*file, error) {
	if v, ok := metadata[versionKey]; !ok || v != version {
		return nil, fmt.Errorf("it is no checkpoint of version %s: its %s is %q", version, versionKey, v)
	}
	f := &file{model: map[string]tensor.Tensor{}, user: map[string]string{}}
	for name, t := range tensors {
		if rest, ok := strings.CutPrefix(name, modelPrefix); ok {
			f.model[rest] = t
			continue
		}
		rest, ok := strings.CutPrefix(name, optimizerPrefix)
		if !ok {
			return nil, fmt.Errorf("tensor %q is of nothing that a checkpoint holds", name)
		}
		if f.optimizer == nil {
			f.optimizer = map[string]tensor.Tensor{}
		}
		f.optimizer[rest] = t
	}
	f.parameters = metadata[parametersKey]
	for key, text := range metadata {
		if rest, ok := strings.CutPrefix(key, userPrefix); ok {
			f.user[rest] = text
		}
	}
	return f, f.parse(metadata)
}

// parse reads the numbers in a checkpoint's metadata.
func (f *file) parse(metadata map[string]string) error {
	var problems []error
	integer := func(key string) int64 {
		n, err := strconv.ParseInt(metadata[key], 10, 64)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s is %q, not an integer", key, metadata[key]))
		}
		return n
	}
	f.random = random.State{Seed: integer(seedKey), Offset: integer(offsetKey)}
	_, hasStep := metadata[stepKey]
	_, hasBase := metadata[baseKey]
	if hasStep || hasBase {
		base, err := strconv.ParseFloat(metadata[baseKey], 64)
		if err != nil || !(base >= 0) || math.IsInf(base, 1) {
			problems = append(problems, fmt.Errorf("%s is %q, not a learning rate", baseKey, metadata[baseKey]))
		}
		step := integer(stepKey)
		if step < 0 || int64(int(step)) != step {
			problems = append(problems, fmt.Errorf("%s is %d", stepKey, step))
		}
		f.scheduler = &optim.SchedulerState{Step: int(step), Base: base}
	}
	return errors.Join(problems...)
}

// readMetadata returns a safetensors file's metadata.
func readMetadata(path string) (map[string]string, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Metadata(), nil
}
