package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Confusion counts what a classifier took each class for.
type Confusion struct {
	Classes []string // names
	Counts  [][]int  // [actual][predicted], square
}

// NewConfusion returns a confusion matrix of zeros.
func NewConfusion(classes ...string) Confusion {
	c := Confusion{Classes: classes, Counts: make([][]int, len(classes))}
	for i := range c.Counts {
		c.Counts[i] = make([]int, len(classes))
	}
	return c
}

// Add counts a sample of class actual that was taken for class predicted.
func (c Confusion) Add(actual, predicted int) error {
	if err := c.check(); err != nil {
		return err
	}
	if n := len(c.Classes); actual < 0 || actual >= n || predicted < 0 || predicted >= n {
		return fmt.Errorf("report: class %d taken for %d, of %d classes, which count from 0", actual, predicted, n)
	}
	c.Counts[actual][predicted]++
	return nil
}

func (c Confusion) check() error {
	n := len(c.Classes)
	if n == 0 {
		return fmt.Errorf("report: a confusion matrix without classes")
	}
	if len(c.Counts) != n {
		return fmt.Errorf("report: %d rows of counts for %d classes", len(c.Counts), n)
	}
	for i, row := range c.Counts {
		if len(row) != n {
			return fmt.Errorf("report: row %d has %d counts for %d classes", i, len(row), n)
		}
		for j, count := range row {
			if count < 0 {
				return fmt.Errorf("report: count %d of class %d taken for %d", count, i, j)
			}
		}
	}
	return nil
}

// Accuracy returns the share of samples that were taken for what they are; 0
// when there are none.
func (c Confusion) Accuracy() float64 {
	right, all := 0, 0
	for i := range c.Counts {
		for j, n := range c.Counts[i] {
			all += n
			if i == j {
				right += n
			}
		}
	}
	return share(right, all)
}

// share returns n of total, 0 when both are.
func share(n, total int) float64 {
	if total == 0 {
		return 0
	}
	return float64(n) / float64(total)
}

func sum(row []int) (total int) {
	for _, n := range row {
		total += n
	}
	return total
}

// Print writes the matrix as an aligned table with the share of each class that
// was recognised. Zeros are dots.
func (c Confusion) Print(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	const corner = "actual \\ predicted"
	first, width := utf8.RuneCountInString(corner), 3
	for i, name := range c.Classes {
		first = max(first, utf8.RuneCountInString(name))
		width = max(width, utf8.RuneCountInString(name))
		for _, n := range c.Counts[i] {
			width = max(width, len(strconv.Itoa(n)))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", first, corner)
	for _, name := range c.Classes {
		fmt.Fprintf(&b, " %*s", width, name)
	}
	b.WriteString("   recall\n")
	for i, row := range c.Counts {
		fmt.Fprintf(&b, "%*s", first, c.Classes[i])
		for _, n := range row {
			cell := "."
			if n != 0 {
				cell = strconv.Itoa(n)
			}
			fmt.Fprintf(&b, " %*s", width, cell)
		}
		if total := sum(row); total == 0 {
			b.WriteString("        -\n")
		} else {
			fmt.Fprintf(&b, "   %5.1f%%\n", 100*share(row[i], total))
		}
	}
	fmt.Fprintf(&b, "accuracy %.2f%%\n", 100*c.Accuracy())
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
