package report

import (
	"fmt"
	"strings"

	"github.com/relock-dev/relock/internal/collect"
)

// Known reports whether anything was counted.
func (s Stats) Known() bool {
	return s.Requests != 0 || s.Packages != 0 || s.Cached != 0 || s.PeakBytes != 0
}

// String returns the cost in one line.
func (s Stats) String() string {
	parts := []string{collect.Count(s.Requests, "request", "requests"), Size(s.Bytes) + " received"}
	if s.Packages > 0 {
		parts = append(parts, collect.Count(s.Packages, "package", "packages")+" downloaded")
	}
	if s.Cached > 0 {
		parts = append(parts, collect.Count(s.Cached, "package", "packages")+" from cache")
	}
	if s.PeakBytes > 0 {
		parts = append(parts, Size(s.PeakBytes)+" of memory")
	}
	for _, g := range s.Stages {
		parts = append(parts, fmt.Sprintf("%s %.2f s", g.Name, g.Took.Seconds()))
	}
	return strings.Join(parts, ", ")
}

// Size writes a number of bytes, with a unit.
func Size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
