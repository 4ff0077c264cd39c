package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkGrowth measures with what the cost of a run grows that remembers nothing: one
// thing in turn, while the others stay as they are.
//
//	modules    root modules
//	providers  that each of them requires
//	platforms  that each entry covers
//	latency    milliseconds of each question and its answer
//
// Packages are small, so that a hundred of them are no more than what is around them. The
// metrics are those of BenchmarkMonorepo.
//
//	go test -run '^$' -bench Growth -benchtime 3x ./internal/command
func BenchmarkGrowth(b *testing.B) {
	m := serveMonorepo(b, registryShape{
		sizes: slices.Repeat([]float64{0.25}, 40), versions: []string{"1.0.0"},
		platforms: append(slices.Clone(monorepoPlatforms), "freebsd_386", "openbsd_amd64", "netbsd_amd64", "linux_386"),
	})
	usual := growth{modules: 20, providers: 10, platforms: 4}
	for _, axis := range []struct {
		name   string
		values []int
		set    func(g *growth, n int)
	}{
		{"modules", []int{10, 100, 1000}, func(g *growth, n int) { g.modules = n }},
		{"providers", []int{5, 10, 20, 40}, func(g *growth, n int) { g.providers = n }},
		{"platforms", []int{1, 2, 4, 8}, func(g *growth, n int) { g.platforms = n }},
		{"latency", []int{0, 50, 100, 200}, func(g *growth, n int) { g.latency = time.Duration(n) * time.Millisecond }},
	} {
		for _, n := range axis.values {
			g := usual
			axis.set(&g, n)
			b.Run(fmt.Sprintf("%s/%d", axis.name, n), func(b *testing.B) { g.measure(b, *m) })
		}
	}
}

// growth is what the cost of a run grows with.
type growth struct {
	modules, providers, platforms int
	latency                       time.Duration
}

func (g growth) measure(b *testing.B, m monorepo) {
	m.shape.platforms = m.shape.platforms[:g.platforms]
	dir := m.lay(b, g.modules, func(int) string { return requiring(g.providers) })
	cli := m.sandbox.CLIConfig()
	if g.latency > 0 {
		line := newSlowLine(b, m.sandbox.URL(), g.latency, 1e9)
		cli = strings.ReplaceAll(cli, m.sandbox.URL(), line.url)
	}
	m.relock(b, dir, cli, m.forget)
	packages, _ := m.sandbox.Downloads()
	m.sandbox.ResetRequests()
	if want := b.N * g.providers * g.platforms; packages != want {
		b.Errorf("%d packages were downloaded, want %d", packages, want)
	}
	b.ReportMetric(float64(packages/b.N), "packages")
}

// requiring is a root module that requires so many providers.
func requiring(providers int) string {
	var required strings.Builder
	for i := range providers {
		fmt.Fprintf(&required, "    p%d = {\n      source  = \"acme/p%[1]d\"\n      version = \"~> 1.0\"\n    }\n", i)
	}
	return fmt.Sprintf("terraform {\n  backend \"local\" {}\n\n  required_providers {\n%s  }\n}\n", &required)
}
