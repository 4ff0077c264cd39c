package run

import "testing"

func TestWebHost(t *testing.T) {
	t.Parallel()
	for api, want := range map[string]string{
		"":                                   "github.com",
		"https://api.github.com":             "github.com",
		"https://api.acme.ghe.com/":          "acme.ghe.com",
		"https://git.example.com/api/v3":     "git.example.com",
		"https://api.example.com/api/v3":     "api.example.com",
		"http://127.0.0.1:4711/github/api/3": "github.com",
		"http://[::1]:4711":                  "github.com",
		"http://localhost:4711":              "github.com",
	} {
		if got := webHost(api); got != want {
			t.Errorf("webHost(%q) = %q, want %q", api, got, want)
		}
	}
}
