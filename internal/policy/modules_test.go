package policy

import (
	"testing"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// TestAboutModule has rules about modules, and changes that they hold or not.
func TestAboutModule(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	below2, err := provider.ParseConstraints("< 2.0.0")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	book := Rulebook{Now: now, Rules: []Rule{
		{Ignore: &yes}, // about providers alone
		{Modules: []string{"mods.example/*"}, Allow: &below2},
		{Modules: []string{"git::https://git.example/*"}, Updates: []provider.Bump{provider.BumpCommit}, Ignore: &yes},
		{Modules: []string{"git::https://git.example/floating*"}, Ignore: &no, Moving: &yes},
		{Modules: []string{"*"}, Where: Where{Directories: []string{"dev/**"}}, Moving: &yes},
		{Modules: []string{"*old*"}, Ignore: &yes, Until: now},
		{Modules: []string{"*/later*"}, HoldUntil: now.AddDate(0, 0, 1)},
		{Modules: []string{"*/laternow"}, HoldUntil: now},
	}}
	tests := []struct {
		dir, address, from, to string
		moving, held           bool
	}{
		{"prod", "mods.example/acme/net/aws", "1.0.0", "1.9.0", false, false},
		{"prod", "mods.example/acme/net/aws", "1.0.0", "2.0.0", false, true},
		{"prod", "mods.example/acme/net/aws", "2.0.0", "2.0.0", false, false},
		{"prod", "git::https://git.example/net", "main", "main", false, true},
		{"dev/a", "git::https://git.example/net", "main", "main", true, true},
		{"prod", "git::https://git.example/floating", "v1", "v1", true, false},
		{"prod", "git::https://old.example/net", "", "", false, false},
		{"prod", "git::https://hub.example/later", "main", "main", false, true},
		{"prod", "git::https://hub.example/laternow", "main", "main", false, false},
		{"prod", "mods.example/acme/later", "1.0.0", "1.1.0", false, true},
		{"prod", "xmods.example/acme/net/aws", "1.0.0", "2.0.0", false, false},
	}
	for _, tt := range tests {
		about := book.AboutModule(tt.dir, tt.address)
		if moving, hold := about.Moving(), about.Judge(tt.from, tt.to, time.Time{}); moving != tt.moving || (hold.Reason != "") != tt.held {
			t.Errorf("%+v: moving %t, hold %+v", tt, moving, hold)
		}
	}
	book.Groups = []Group{{Name: "prod", Where: Where{Directories: []string{"prod"}}}, {Name: "net", Modules: []string{"*/net"}, Where: Where{Directories: []string{"prod"}}}}
	for _, at := range [][4]string{
		{"prod", "git::https://git.example/net", "net"}, {"prod", "git::https://git.example/dns", "all"}, {"dev", "git::https://git.example/net", "all", "all"},
		{"dev", "git::https://git.example/net", "dev", "directory"}, {"prod", "git::https://git.example/net", "net", "directory"},
		{"dev", "git::https://git.example/net", "modules", "provider"}, {"prod", "git::https://git.example/dns", "modules", "namespace"},
	} {
		book.GroupBy = GroupBy(at[3])
		if got := book.GroupOfModule(at[0], at[1]); got != at[2] || (got == "net") != book.OfModules(got) || book.OfModules("prod") {
			t.Errorf("the group of %s in %s by %s is %q, want %q", at[1], at[0], at[3], got, at[2])
		}
	}
	week := 7 * 24 * time.Hour
	aging := []Rule{{Modules: []string{"*"}, MinimumAge: &week}, {Modules: []string{"*/strict"}, UnknownAge: HoldUnknownAge}}
	for _, tt := range []struct {
		address, from, to string
		days              int // since it was published; 0: nothing says so
		wants             bool
		reason            Reason
	}{
		{"mods.example/acme/net/aws", "1.0.0", "1.1.0", 6, true, HeldByAge},
		{"mods.example/acme/net/aws", "1.0.0", "1.1.0", 7, true, ""},
		{"mods.example/acme/net/aws", "1.0.0", "1.1.0", 0, true, ""},
		{"mods.example/acme/strict", "1.0.0", "1.1.0", 0, true, HeldByAge},
		{"mods.example/acme/strict", "1.1.0", "1.1.0", 0, true, HeldByAge}, // other content
		{"git::https://git.example/net", "main", "main", 0, true, ""},
		{"git::https://git.example/strict", "main", "main", 0, true, HeldByAge},
	} {
		about, published := (Rulebook{Now: now, Rules: aging}).AboutModule("prod", tt.address), time.Time{}
		if tt.days > 0 {
			published = now.AddDate(0, 0, -tt.days)
		}
		if wants, hold := about.WantsAge(tt.from, tt.to), about.Judge(tt.from, tt.to, published); wants != tt.wants || hold.Reason != tt.reason {
			t.Errorf("%+v: wants an age: %t, hold %+v", tt, wants, hold)
		}
	}
	addr, err := provider.ParseAddr("registry.terraform.io/hashicorp/aws", provider.Terraform)
	if err != nil {
		t.Fatal(err)
	}
	if rules := book.About("prod", addr).Rules; len(rules) != 1 {
		t.Errorf("%d rules are about the provider, want 1", len(rules))
	}
}
