package optim

import (
	"errors"

	"github.com/sinter-go/sinter/generated/tensor"
)

// Minimize makes one step of training: it removes the gradients of the optimizer's
// parameters, calls loss, which computes the loss from them, computes their gradients, and
// calls the optimizer's Step. It returns the loss before the step, detached: Item gives the
// number. All else that was made meanwhile is released, also what loss made. What loss
// wants to keep beyond its call, it gives to tensor.Keep.
//
// Where loss or its gradients fail, no parameter has changed. What a program does
// between gradients and step (clipping, sums over several batches) is written out:
// ZeroGrad, Backward and Step in a tensor.Scope.
func Minimize(o Optimizer, loss func() tensor.Tensor) (tensor.Tensor, error) {
	if o == nil || loss == nil {
		return tensor.Tensor{}, errors.New("optim: Minimize wants an optimizer and a function that computes the loss")
	}
	return tensor.ScopeValue(func() (tensor.Tensor, error) {
		if err := o.ZeroGrad(); err != nil {
			return tensor.Tensor{}, err
		}
		value := loss()
		if err := value.Backward(); err != nil {
			return tensor.Tensor{}, err
		}
		return value.Detach(), o.Step()
	})
}
