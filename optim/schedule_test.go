package optim_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

func newScheduler(t testing.TB, rate float64, s optim.Schedule) (*optim.Scheduler, optim.Optimizer) {
	t.Helper()
	opt, err := optim.NewSGD([]*nn.Parameter{nn.NewParameter(tensor.Zeros([]int{1}))}, rate)
	must(t, err)
	return optim.NewScheduler(opt, s), opt
}

func TestSchedules(t *testing.T) {
	want := load(t).Schedules
	for name, s := range map[string]optim.Schedule{
		"step":          optim.StepDecay(3, 0.5),
		"multi step":    optim.MultiStep(0.1, 6, 2, 5),
		"exponential":   optim.Exponential(0.9),
		"cosine":        optim.Cosine(12, 0.1),
		"linear warmup": optim.Linear(4, 0.25, 1),
	} {
		scheduler, opt := newScheduler(t, 0.2, s)
		for i, w := range want[name] {
			if got := opt.LearningRate(); math.Abs(got-w) > 1e-15 {
				t.Errorf("%s: rate %v at step %d, want %v", name, got, i, w)
			}
			scheduler.Step()
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("not compared: %v", want)
	}
}

func TestSchedulePoints(t *testing.T) {
	for _, c := range []struct {
		name  string
		s     optim.Schedule
		rates map[int]float64
	}{
		{"constant", optim.Constant(), map[int]float64{0: 1, 100: 1}},
		{"one cycle", optim.OneCycle(10, 30, 0.2, 0.1), map[int]float64{0: 0.2, 5: 0.6, 10: 1, 20: 0.55, 30: 0.1, 1000: 0.1}},
		{"one cycle without warming", optim.OneCycle(0, 4, 0.2, 0), map[int]float64{0: 1, 2: 0.5, 4: 0}},
		{"one cycle that is all warming", optim.OneCycle(4, 4, 0, 0.5), map[int]float64{2: 0.5, 4: 1, 5: 0.5}},
		{"warmup", optim.Warmup(4, optim.Exponential(0.5)), map[int]float64{0: 0.25, 3: 1, 4: 1, 5: 0.5}},
		{"cosine stays", optim.Cosine(4, 0.5), map[int]float64{4: 0.5, 8: 0.5}},
		{"linear stays", optim.Linear(4, 1, 0), map[int]float64{1: 0.75, 9: 0}},
		{"no steps", optim.StepDecay(0, 0.5), map[int]float64{0: 1, 2: 0.25}},
		{"no total", optim.Cosine(0, 0.5), map[int]float64{0: 1, 1: 0.5}},
	} {
		for step, want := range c.rates {
			if got := c.s(step); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: %v at step %d, want %v", c.name, got, step, want)
			}
		}
	}
}

func TestSchedulerState(t *testing.T) {
	curve := optim.OneCycle(3, 12, 0.1, 0.01)
	one, opt := newScheduler(t, 0.3, curve)
	for range 5 {
		one.Step()
	}
	two, again := newScheduler(t, 99, curve)
	must(t, two.SetState(one.State()))
	for range 5 {
		if opt.LearningRate() != again.LearningRate() {
			t.Errorf("%s, resumed %s", one, two)
		}
		one.Step()
		two.Step()
	}
	rate := again.LearningRate()
	for _, s := range []optim.SchedulerState{{Step: -1, Base: 1}, {Step: 1, Base: -1}, {Step: 1, Base: math.NaN()}, {Step: 1, Base: math.Inf(1)}} {
		if err := two.SetState(s); err == nil || again.LearningRate() != rate {
			t.Errorf("state %+v: %v, rate %v", s, err, again.LearningRate())
		}
	}
}
