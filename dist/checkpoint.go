package dist

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optim/checkpoint"
)

// SaveCheckpoint is checkpoint.Save for a group: all ranks call it, rank 0 writes the file,
// and every rank returns its error. What the ranks share among them is gathered there, so
// that the file is that of one process, and any number of ranks can load it. Random numbers
// are rank 0's.
func SaveCheckpoint(g *Group, path string, s checkpoint.State) error {
	return atCheckpoint(g, "SaveCheckpoint", func() error {
		if o, ok := s.Optimizer.(*ShardedOptimizer); ok && o.made() == nil {
			state, err := o.gather(0)
			if err != nil {
				return err
			}
			defer release(state)
			s.Optimizer = &saving{o, state}
		}
		return fromUnits(unitsOf(s.Model), g.Rank() == 0, func() error {
			if g.Rank() != 0 {
				return nil
			}
			return checkpoint.Save(path, s)
		})
	})
}

// LoadCheckpoint is checkpoint.Load for a group: all ranks call it, each reads the file and
// takes what it keeps. Where one fails, be it that its file is damaged or that its device has no memory, every
// rank returns its error, and all are as they were. The random numbers of
// all ranks go on alike; those of a rank's own come from a generator that Random of the
// group makes anew.
func LoadCheckpoint(g *Group, path string, s checkpoint.State) (metadata map[string]string, err error) {
	if !g.made() {
		return nil, errNil
	}
	if o, ok := s.Optimizer.(*ShardedOptimizer); ok && o.made() == nil {
		s.Optimizer = &loading{ShardedOptimizer: o}
	}
	read, told := false, false // by this rank; what failed, by all
	err = toUnits(unitsOf(s.Model), func(install func() (undo func() error, err error)) (err error) {
		metadata, err = checkpoint.LoadTogether(path, s, func(own error) error {
			undo := func() error { return nil }
			if read && own == nil {
				undo, own = install()
			}
			read = true
			err := g.together(own)
			if told = err != nil; told && own == nil {
				err = errors.Join(err, undo())
			}
			return err
		})
		return err
	})
	if err != nil && !read && !told { // the others ask whether all have read it
		err = g.together(err)
	}
	if err != nil {
		return nil, fmt.Errorf("dist: rank %d: LoadCheckpoint: %w", g.Rank(), err)
	}
	return metadata, nil
}

// atCheckpoint calls f and has all ranks return the errors of those where it failed.
func atCheckpoint(g *Group, what string, f func() error) error {
	if !g.made() {
		return errNil
	}
	own := f()
	if g.Err() != nil {
		return fmt.Errorf("dist: %s: %w", what, errors.Join(own, g.Err()))
	}
	if err := g.together(own); err != nil {
		return fmt.Errorf("dist: rank %d: %s: %w", g.Rank(), what, err)
	}
	return nil
}

// saving is an optimizer whose whole state was gathered.
type saving struct {
	*ShardedOptimizer
	state map[string]tensor.Tensor
}

func (s *saving) State() (map[string]tensor.Tensor, error) { return s.state, nil }

// loading is an optimizer of which this rank's part alone is kept to be put back, should
// the rest of a checkpoint fail.
type loading struct {
	*ShardedOptimizer
	set bool
}

func (l *loading) State() (map[string]tensor.Tensor, error) { return l.inner.State() }

func (l *loading) SetState(state map[string]tensor.Tensor) error {
	if l.set {
		return l.inner.SetState(state)
	}
	l.set = true
	return l.ShardedOptimizer.SetState(state)
}
