//go:build !amd64

package radix

// rankLength is 0: there are no vectors to count words with.
const rankLength = 0

// few is not called.
func few(a, _ []Word) []Word { return a }
