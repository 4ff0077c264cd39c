package modulelock_test

import (
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/modulelock"
	"github.com/relock-dev/relock/internal/policy"
)

// The hint names the package by one word of a shell that is a pattern for it, without what
// may be secret in the address. Strangers choose addresses.
func TestMovedHint(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"git::https://example.com/net.git":         `'git::https://example.com/net.git'`,
		"git::https://example.com/a'$(id)'.git":    `'git::https://example.com/a'\''$(id)'\''.git'`,
		"https://example.com/net.zip?token=secret": `'https://example.com/net.zip?*'`,
		"registry.terraform.io/acme/net/aws":       "registry.terraform.io/acme/net/aws",
	} {
		hint := modulelock.Key{Address: address}.MovedHint()
		if command := "`relock upgrade --accept-moved " + want + "`"; !strings.Contains(hint, command) {
			t.Errorf("the hint for %s lacks %s: %s", address, command, hint)
		}
		pattern := strings.ReplaceAll(strings.Trim(want, "'"), `'\''`, "'")
		if !policy.MatchesModule(pattern, address) {
			t.Errorf("%s does not match %s", pattern, address)
		}
	}
}
