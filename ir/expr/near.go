package expr

import (
	"fmt"
	"strings"
)

// DidYouMean returns a question that names the one of names that is nearest to a name that
// is not among them, to be put behind a message; "" where none is near.
func DidYouMean(name string, names []string) string {
	best, least := "", len(name)/3 // of a short name, one in other letters' case is near
	for _, n := range names {
		if len(name)-len(n) > least || len(n)-len(name) > least {
			continue // it takes as many edits at least; names of megabytes come here
		}
		d := edits(name, n)
		if strings.EqualFold(name, n) {
			d = 0
		}
		if d <= least && (best == "" || d < least) {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// edits returns how many letters have to be put in, left out, replaced or swapped with
// their neighbour to make b of a.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
