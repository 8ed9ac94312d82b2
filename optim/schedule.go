package optim

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/sinter-go/sinter/runtime/core"
)

// A Schedule gives the learning rate of each step, counted from 0, as a share of
// the base rate. Numbers of steps below 1 count as 1.
type Schedule func(step int) float64

// Constant keeps the base rate.
func Constant() Schedule { return func(int) float64 { return 1 } }

// StepDecay multiplies the rate by gamma every given number of steps.
func StepDecay(every int, gamma float64) Schedule {
	return func(step int) float64 { return math.Pow(gamma, float64(step/max(every, 1))) }
}

// MultiStep multiplies the rate by gamma at each of the given steps.
func MultiStep(gamma float64, at ...int) Schedule {
	at = slices.Sorted(slices.Values(at))
	return func(step int) float64 {
		passed, _ := slices.BinarySearch(at, step+1)
		return math.Pow(gamma, float64(passed))
	}
}

// Exponential multiplies the rate by gamma every step.
func Exponential(gamma float64) Schedule {
	return func(step int) float64 { return math.Pow(gamma, float64(step)) }
}

// Linear goes evenly from start to end over total steps, and stays there.
func Linear(total int, start, end float64) Schedule {
	return func(step int) float64 { return start + (end-start)*progress(step, total) }
}

// Cosine falls from 1 to floor over total steps along half a cosine, and stays
// there.
func Cosine(total int, floor float64) Schedule {
	return func(step int) float64 {
		return floor + (1-floor)*(1+math.Cos(math.Pi*progress(step, total)))/2
	}
}

// OneCycle rises evenly from start to 1 over warm steps and then falls along half
// a cosine to floor at total steps.
func OneCycle(warm, total int, start, floor float64) Schedule {
	rise, fall := Linear(warm, start, 1), Cosine(total-warm, floor)
	return func(step int) float64 {
		if step < warm {
			return rise(step)
		}
		return fall(step - warm)
	}
}

// Warmup rises evenly to s over the first steps and then follows it. It returns nil where s
// is nil.
func Warmup(steps int, s Schedule) Schedule {
	if s == nil {
		return nil
	}
	return func(step int) float64 {
		if step < steps {
			return s(0) * float64(step+1) / float64(steps)
		}
		return s(step - steps)
	}
}

// progress returns how much of total steps is over, at most 1.
func progress(step, total int) float64 {
	return math.Min(float64(step)/float64(max(total, 1)), 1)
}

// A Scheduler sets an optimizer's learning rate by a schedule.
type Scheduler struct {
	opt   Optimizer
	curve Schedule
	state SchedulerState
}

// A SchedulerState is where a schedule stands.
type SchedulerState struct {
	Step int     // steps made
	Base float64 // learning rate that the schedule gives shares of
}

// NewScheduler returns a scheduler whose base rate is the optimizer's current
// one, and sets the rate of step 0. Without an optimizer or a schedule it sets
// none: see Err.
func NewScheduler(opt Optimizer, curve Schedule) *Scheduler {
	s := &Scheduler{opt: opt, curve: curve}
	if s.Err() == nil {
		s.state.Base = opt.LearningRate()
		s.apply()
	}
	return s
}

// Err returns why the scheduler sets no rates: it was not made with NewScheduler
// from an optimizer and a schedule.
func (s *Scheduler) Err() error {
	switch {
	case s == nil:
		return errors.New("optim: a nil *optim.Scheduler; NewScheduler makes one")
	case none(s.opt):
		return errors.New("optim: a scheduler without an optimizer; NewScheduler takes one that is not nil")
	case s.curve == nil:
		return errors.New("optim: a scheduler without a schedule; NewScheduler takes one that is not nil")
	}
	return nil
}

// none reports an optimizer that is nil, or a nil pointer to one.
func none(opt Optimizer) bool {
	v := reflect.ValueOf(opt)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// Step goes on to the next step's rate. Call it after the optimizer's Step.
func (s *Scheduler) Step() {
	if s.Err() != nil {
		return
	}
	core.Journal(func() func() {
		before, rate := s.state, s.opt.LearningRate()
		core.Unrecorded(func() {
			s.state.Step++
			s.apply()
		})
		return func() {
			s.state = before
			core.Unrecorded(func() { s.opt.SetLearningRate(rate) })
		}
	})
}

// State returns where the schedule stands.
func (s *Scheduler) State() SchedulerState { return given(s).state }

// SetState goes to where a schedule stood, as when training is resumed, and sets
// the rate.
func (s *Scheduler) SetState(to SchedulerState) error {
	if err := s.Err(); err != nil {
		return err
	}
	if to.Step < 0 || !(to.Base >= 0) || math.IsInf(to.Base, 1) {
		return fmt.Errorf("optim: a schedule cannot be at step %d of base rate %g", to.Step, to.Base)
	}
	s.state = to
	s.apply()
	return nil
}

func (s *Scheduler) apply() { s.opt.SetLearningRate(s.state.Base * s.curve(s.state.Step)) }

// String describes where the schedule stands.
func (s *Scheduler) String() string {
	if err := s.Err(); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("step %d, learning rate %g", s.state.Step, s.opt.LearningRate())
}
