package ir

// Error is the type of errors that programs may decide on. They are constants, so
// that no program can put another error in the place of one; errors.Is finds them in
// what wraps them. Two with one text would be one error: tests/source sees to it that
// there are none.
type Error string

// Error returns the text of the error.
func (e Error) Error() string { return string(e) }
