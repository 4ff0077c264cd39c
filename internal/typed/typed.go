// Package typed reads words of closed lists that a person types: verbs, flags, settings,
// codes, platforms. It suggests the word of the list that the person probably meant.
// Names that repositories and registries choose are no closed lists: relock suggests none.
package typed

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// Nearest is the only word of a list that begins with the typed one, else the word that
// differs from it by at most two letters; empty if there is none.
func Nearest(word string, words []string) string {
	word = strings.ToLower(word)
	begun := collect.Those(words, func(w string) bool { return strings.HasPrefix(w, word) })
	if len(begun) == 1 {
		return begun[0]
	}
	best, least := "", 3
	for _, w := range words {
		if d := levenshtein.Distance(word, w, nil); d < least && d < len(word) {
			best, least = w, d
		}
	}
	return best
}

// NoCode says that there is no such code of findings, and which one was probably meant.
func NoCode(code problem.Code) error {
	near := Nearest(string(code), collect.Mapped(problem.Meanings, func(m problem.Meaning) string { return string(m.Code) }))
	if near != "" {
		return fmt.Errorf("there is no code %q; did you mean %s?", code, near)
	}
	return fmt.Errorf("there is no code %q", code)
}

// otherWords are people's words for Go's, and other separators.
var otherWords = strings.NewReplacer(
	"x86_64", "amd64", "x64", "amd64", "aarch64", "arm64", "i386", "386", "x86", "386",
	"macos", "darwin", "osx", "darwin", "-", "_", "/", "_",
)

// NearPlatform is the known platform that an unknown text probably means; empty if that is
// unclear.
func NearPlatform(s string) string {
	return Nearest(otherWords.Replace(strings.ToLower(s)), collect.Mapped(provider.KnownPlatforms, provider.Platform.String))
}

// KnownPlatform reads a platform that a user asks for. It refuses a platform that is not
// Known, and names the one that was probably meant.
func KnownPlatform(s string) (provider.Platform, error) {
	p, err := provider.ParsePlatform(s)
	if err == nil && p.Known() {
		return p, nil
	}
	if near := NearPlatform(s); near != "" {
		return provider.Platform{}, fmt.Errorf("providers are not built for a platform %q; did you mean %s?", s, near)
	}
	if err == nil {
		err = fmt.Errorf("providers are not built for a platform %q; it must be like linux_amd64", s)
	}
	return provider.Platform{}, err
}
