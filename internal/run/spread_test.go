package run

import "testing"

func TestNearPattern(t *testing.T) {
	t.Parallel()
	dirs := []string{".", "live/prod/app", "live/prod/network", "prod/app", "stage/app"}
	for pattern, want := range map[string]string{
		"prd/*": "prod/*", "prdo/*": "prod/*", "lvie/**": "live/**", "**/netwrok": "**/network", "**/prdo/*": "**/prod/*", "live/*/netwok": "live/*/network",
		"stge/ap?":  "stage/ap?",
		"nothing/*": "", "prd/*/x": "", "prod/b*": "", "x/*": "", "*": "",
	} {
		if near, ok := nearPattern(pattern, dirs); near != want || ok != (want != "") {
			t.Errorf("nearPattern(%q) = %q, %v, want %q", pattern, near, ok, want)
		}
	}
}
