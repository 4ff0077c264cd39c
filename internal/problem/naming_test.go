package problem

import "testing"

func TestNaming(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		names      Naming
		path, want string
	}{
		{Naming{}, "live/main.tf", "live/main.tf"},
		{Naming{Root: "/repo", WorkDir: "/repo"}, "live/main.tf", "live/main.tf"},
		{Naming{Root: "/repo", WorkDir: "/repo/live"}, "live", "."},
		{Naming{Root: "/repo", WorkDir: "/repo/live"}, "live/main.tf", "main.tf"},
		{Naming{Root: "/repo", WorkDir: "/repo/live"}, "modules/vpc", "../modules/vpc"},
		{Naming{Root: "/repo", WorkDir: "/repo/live"}, "live..old", "../live..old"},
		{Naming{Root: "/src/repo", WorkDir: "/src"}, "live", "repo/live"},
		{Naming{Root: "/repo", WorkDir: "/elsewhere"}, "live", "/repo/live"},
		{Naming{Repository: "acme/infra"}, "live", "acme/infra//live"},
		{Naming{Repository: "acme/infra"}, ".", "acme/infra//."},
	} {
		if got := tt.names.Of(tt.path); got != tt.want {
			t.Errorf("%+v: Of(%q) = %q, want %q", tt.names, tt.path, got, tt.want)
		}
		if got, want := tt.names.Place(Place{Path: tt.path, Line: 7}).String(), tt.want+":7"; got != want {
			t.Errorf("%+v: the place of line 7 of %q is %q, want %q", tt.names, tt.path, got, want)
		}
		for _, other := range []Place{{}, {Path: "main.tf", Package: "git::https://example.com/net.git", Line: 3}, {Package: "acme/other"}} {
			if got := tt.names.Place(other); got != other {
				t.Errorf("%+v: Place(%v) = %v, want it as it is", tt.names, other, got)
			}
		}
	}
}
