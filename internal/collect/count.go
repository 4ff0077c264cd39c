package collect

import (
	"fmt"
	"strings"
)

// Count returns a number with its noun, and with the verb if that changes with it. All texts
// with a number take it from here.
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// First lists the first of many names in a text, and counts the others.
func First(names []string, most int) string {
	list := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
