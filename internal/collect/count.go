package collect

import "fmt"

// Count returns a number with its noun, and with the verb if that changes with it. All texts
// with a number take it from here.
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
