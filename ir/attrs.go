package ir

import "fmt"

// SetFloats sets the float attributes of a call to what numbers returns, in the order of
// the operator's, and reports whether one changed.
func (c *Call) SetFloats(numbers func() ([]float64, error)) (changed bool, err error) {
	list, err := numbers()
	if err != nil {
		return false, err
	}
	given := len(list)
	for i, a := range c.Op.Attrs {
		if a.Kind != AttrFloat {
			continue
		}
		if len(list) == 0 {
			return false, fmt.Errorf("%s: %d numbers, it has more float attributes", c.Op.Name, given)
		}
		if c.Attrs[i].Scalar.Float() != list[0] {
			c.Set(i, FloatScalar(list[0]))
			changed = true
		}
		list = list[1:]
	}
	if len(list) > 0 {
		return false, fmt.Errorf("%s: %d numbers, it has fewer float attributes", c.Op.Name, given)
	}
	return changed, nil
}

// Set gives the call another value of a numeric attribute, in both of its forms. The
// call's Attrs and Scalars are changed.
func (c *Call) Set(attr int, v Scalar) {
	if c.Op.Attrs[attr].Kind == AttrInt {
		c.Attrs[attr].Int = v.Int()
	} else {
		c.Attrs[attr].Scalar = v
	}
	at := 0
	for _, a := range c.Op.Attrs[:attr] {
		switch a.Kind {
		case AttrScalar, AttrFloat, AttrInt, AttrBool:
			at++
		}
	}
	c.Scalars[at] = v
}
