package optim

import (
	"fmt"
	"math"
)

// A Schedule gives the learning rate of each step as a share of the base rate.
type Schedule func(step int) float64

// Constant keeps the base rate.
func Constant() Schedule { return func(int) float64 { return 1 } }

// StepDecay multiplies the rate by gamma every given number of steps.
func StepDecay(every int, gamma float64) Schedule {
	return func(step int) float64 { return math.Pow(gamma, float64(step/max(every, 1))) }
}

// Exponential multiplies the rate by gamma every step.
func Exponential(gamma float64) Schedule {
	return func(step int) float64 { return math.Pow(gamma, float64(step)) }
}

// Cosine falls from 1 to floor over total steps along half a cosine, and stays there.
func Cosine(total int, floor float64) Schedule {
	return func(step int) float64 {
		x := math.Min(float64(step)/float64(max(total, 1)), 1)
		return floor + (1-floor)*(1+math.Cos(math.Pi*x))/2
	}
}

// OneCycle rises linearly from start to 1 over warm steps and then falls along
// half a cosine to floor at total steps.
func OneCycle(warm, total int, start, floor float64) Schedule {
	fall := Cosine(total-warm, floor)
	return func(step int) float64 {
		if step < warm {
			return start + (1-start)*float64(step)/float64(warm)
		}
		return fall(step - warm)
	}
}

// Warmup rises linearly to s over the first steps and then follows it.
func Warmup(steps int, s Schedule) Schedule {
	return func(step int) float64 {
		if step < steps {
			return s(0) * float64(step+1) / float64(steps)
		}
		return s(step - steps)
	}
}

// A Scheduler sets an optimizer's learning rate by a schedule.
type Scheduler struct {
	opt   Optimizer
	base  float64
	curve Schedule
	step  int
}

// NewScheduler returns a scheduler whose base rate is the optimizer's current
// one, and sets the rate of step 0.
func NewScheduler(opt Optimizer, curve Schedule) *Scheduler {
	s := &Scheduler{opt: opt, base: opt.LearningRate(), curve: curve}
	s.SetStep(0)
	return s
}

// Step goes on to the next step's rate. Call it after the optimizer's Step.
func (s *Scheduler) Step() { s.SetStep(s.step + 1) }

// StepCount returns how many steps were made.
func (s *Scheduler) StepCount() int { return s.step }

// SetStep sets the rate of the given step, as when training is resumed.
func (s *Scheduler) SetStep(step int) {
	s.step = step
	s.opt.SetLearningRate(s.base * s.curve(step))
}

// String describes where the schedule stands.
func (s *Scheduler) String() string {
	return fmt.Sprintf("step %d, learning rate %g", s.step, s.opt.LearningRate())
}
