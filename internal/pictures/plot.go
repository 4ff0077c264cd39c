package pictures

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// contestant is a program that the benchmark runs.
type contestant struct{ row, key, name, does string }

// contestants are in the order of the plot.
var contestants = []contestant{
	{"terraform", "terraform", "Terraform", "init -upgrade, then providers lock"},
	{"tofu", "tofu", "OpenTofu", "init -upgrade, then providers lock"},
	{"tfupdate", "tfupdate", "tfupdate", "lock"},
	{"cold", "", "relock", "upgrade, nothing known before"},
}

// bar is a row of the plot, in pixels.
type bar struct {
	Name, Does, Value string
	Top, Width        int
	Ours              bool
}

//go:embed plot.svg
var plotPicture string

var plotTemplate = template.Must(template.New("plot").Parse(plotPicture))

// Plot draws what the programs used of the processors, as BenchmarkMonorepo prints it.
// All four must be there, for the same root modules, and the tools with their releases.
func Plot(results string) (string, error) {
	var seconds []float64
	roots, most := "", 0.0
	for _, c := range contestants {
		row := regexp.MustCompile(`(?m)^BenchmarkMonorepo/` + c.row + `/(\d+)(?:-\d+)?\s.*\s([0-9.]+) cpu-s\b`).FindStringSubmatch(results)
		if row == nil {
			return "", fmt.Errorf("the benchmark has no row of %s with cpu-s", c.row)
		}
		if roots != "" && row[1] != roots {
			return "", fmt.Errorf("the benchmark compares %s on %s root modules, and others on %s", c.row, row[1], roots)
		}
		roots = row[1]
		value, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			return "", fmt.Errorf("the row of %s: %w", c.row, err)
		}
		seconds = append(seconds, value)
		most = max(most, value)
	}
	if most <= 0 {
		return "", fmt.Errorf("no program took any time")
	}
	const first, step, widest = 64, 52, 600
	var bars []bar
	for i, c := range contestants {
		b := bar{
			Name: c.name, Does: c.does, Value: strconv.FormatFloat(seconds[i], 'f', 0, 64) + " s",
			Top: first + i*step, Width: max(1, int(seconds[i]/most*widest)), Ours: c.key == "",
		}
		if c.key != "" {
			release := regexp.MustCompile(`(?m)^` + c.key + `: (\d+\.\d+\.\d+)`).FindStringSubmatch(results)
			if release == nil {
				return "", fmt.Errorf("the benchmark names no release of %s", c.name)
			}
			b.Name += " " + release[1]
		}
		bars = append(bars, b)
	}
	var plot strings.Builder
	err := plotTemplate.Execute(&plot, map[string]any{"Roots": roots, "Bars": bars})
	return plot.String(), err
}
