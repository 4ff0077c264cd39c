package pictures

import (
	"os"
	"strings"
	"testing"
)

const pullBody = `1 provider is upgraded.

| Provider | To |
| --- | --- |
| ` + "`a/b`" + ` | 2.0.0 |

### Versions in use

- none

<!-- relock:{"digest":"1","title":"Bump a/b & c"} -->
`

func TestPull(t *testing.T) {
	t.Parallel()
	pull, err := ReadPull(pullBody)
	if err != nil || pull.Title != "Bump a/b & c" || strings.Contains(pull.Text, "none") {
		t.Fatalf("ReadPull = %+v, %v", pull, err)
	}
	for _, dark := range []bool{false, true} {
		page, err := pull.Page(dark)
		if text := string(page); err != nil || !strings.Contains(text, "<b>Bump a/b &amp; c</b>") || !strings.Contains(text, "<td><code>a/b</code></td>") || strings.Contains(text, `class="dark"`) != dark {
			t.Errorf("Page(%t) = %v\n%s", dark, err, page)
		}
	}
	other, err := ReadPull(strings.Replace(pullBody, "2.0.0", "2.0.1", 1))
	if err != nil || other.Sum() == pull.Sum() {
		t.Errorf("another text has the same sum %s, %v", other.Sum(), err)
	}
	below, err := ReadPull(strings.Replace(pullBody, "none", "some", 1))
	if err != nil || below.Sum() != pull.Sum() {
		t.Errorf("what no picture shows changes the sum: %v", err)
	}
	for name, body := range map[string]string{"no heading": strings.Replace(pullBody, "Versions", "Version", 1), "no title": strings.Replace(pullBody, "title", "name", 1), "nothing": ""} {
		if _, err := ReadPull(body); err == nil {
			t.Errorf("%s: ReadPull finds no mistake", name)
		}
	}
}

// TestPlotIsOfTheResults draws the plot again from what the benchmark printed.
func TestPlotIsOfTheResults(t *testing.T) {
	t.Parallel()
	results, err := os.ReadFile("../../docs/compared.txt")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../../docs/compared.svg")
	if err != nil {
		t.Fatal(err)
	}
	plot, err := Plot(string(results))
	if err != nil || plot != string(kept) {
		t.Errorf("docs/compared.svg is not what is drawn from docs/compared.txt (%v): run go run ./.ci/pictures", err)
	}
}

func TestPlotNeedsWholeResults(t *testing.T) {
	t.Parallel()
	results := `terraform: 1.11.4
BenchmarkMonorepo/terraform/20-2  1  40 ns/op  100.0 cpu-s  700.0 packages
tofu: 1.12.6-dev
BenchmarkMonorepo/tofu/20-2  1  40 ns/op  50.5 cpu-s
tfupdate: 0.8.0
BenchmarkMonorepo/tfupdate/20-2  1  40 ns/op  25.0 cpu-s
BenchmarkMonorepo/cold/20-2  1  40 ns/op  10.0 cpu-s  1.0 x
`
	plot, err := Plot(results)
	for _, want := range []string{"20 root modules", ">Terraform 1.11.4<", ">OpenTofu 1.12.6<", ">100 s<", `class="ours" y="20" width="60"`, ">10 s<"} {
		if err != nil || !strings.Contains(plot, want) {
			t.Errorf("Plot = %v, without %s:\n%s", err, want, plot)
		}
	}
	for name, spoiled := range map[string]string{
		"a row is gone":      strings.Replace(results, "Monorepo/cold", "Monorepo/warm", 1),
		"a release is gone":  strings.Replace(results, "tofu: ", "tofu ", 1),
		"other root modules": strings.Replace(results, "cold/20", "cold/50", 1),
		"no figure":          strings.Replace(results, "25.0 cpu-s", "", 1),
		"no number":          strings.Replace(results, "25.0 cpu-s", "2.5.0 cpu-s", 1),
		"nothing":            "",
	} {
		if _, err := Plot(spoiled); err == nil {
			t.Errorf("%s: Plot finds no mistake", name)
		}
	}
}
