package settings

import (
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/typed"
)

// must unwraps what a check has accepted before.
func must[T any](v T, err error) T {
	if err != nil {
		panic("settings: a value passed its check and does not parse: " + err.Error())
	}
	return v
}

// readPlatforms reads one of the words auto and all, or a list.
func readPlatforms(items []Item) (any, int, error) {
	switch {
	case keyword(items):
		return PlatformSet{All: items[0].Text == "all"}, 0, nil
	case len(items) == 0:
		return nil, -1, errors.New("no platform is given; it must be auto, all or a list like linux_amd64, darwin_arm64")
	case slices.ContainsFunc(items, func(i Item) bool { return keyword([]Item{i}) }):
		return nil, -1, errors.New("auto and all cannot be combined with other platforms")
	}
	return whole(func(to *PlatformSet, item Item) error { return addPlatform(&to.List, item) })(items)
}

// addPlatform leaves out what is there.
func addPlatform(to *[]provider.Platform, item Item) error {
	p, err := typed.KnownPlatform(item.Text)
	if err == nil && !slices.Contains(*to, p) {
		*to = append(*to, p)
	}
	return err
}

// keyName is a whole fingerprint, of keys of version 4 or 6, or its last 16 digits. Shorter
// ends are refused: others can make a key with the same.
var keyName = whenUsed(`^([0-9A-F]{16}|[0-9A-F]{40}|[0-9A-F]{64})$`)

// fingerprint is a fingerprint in one form. People copy it in groups of digits.
func fingerprint(text string) string { return strings.ToUpper(strings.ReplaceAll(text, " ", "")) }

// addSigner adds a key that may sign for a pattern.
func addSigner(to *provider.Signers, item Item) error {
	id := fingerprint(item.Text)
	if !keyName().MatchString(id) {
		return fmt.Errorf("%q is not the fingerprint of a key; it must be 40 hexadecimal digits, or 64, or the last 16 of them", item.Text)
	}
	pattern, err := provider.ParsePattern(item.Name)
	if err != nil {
		return err
	}
	put((*map[provider.Pattern][]string)(to), pattern, append((*to)[pattern], id))
	return nil
}

// parseTimeout reads a duration as Go writes it.
func parseTimeout(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time like 90s, 20m or 1h30m", s)
	}
	return d, nil
}

// The checks of texts. The name of a user of a managed account has an underscore.
var (
	isVersion1  = accepting(oneOf("1"), "%s is not a known version; it must be 1")
	isHost      = accepting(hostName, "%q is not the name of a host; it must be like registry.example.com")
	isTokenEnv  = matching(`^RELOCK_TOKEN_[A-Za-z0-9_]+$`, "%q is not a variable like RELOCK_TOKEN_EXAMPLE; tokens come from variables with that beginning only")
	isGroupName = matching(`^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$`, "%q is not a name of up to 50 letters, digits, dots, dashes and underscores")
	isSetName   = isGroupName
	isEnvName   = matching(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`, "%q is not the name of a variable of the environment")
	isVariable  = matching(`^[A-Za-z_][A-Za-z0-9_-]*$`, "%q is not the name of a variable") // of HCL, in ASCII
	isLogin     = matching(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`, "%q is not the name of a user; it must be like octocat, without @")
	isOwner     = matching(`^([A-Za-z0-9][A-Za-z0-9_-]{0,99})?$`, "%q is not the name of an organisation or a user")
	isTeam      = matching(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$`, "%q is not a team; it must be like platform-admins, without the organisation")
	isAppID     = matching(`^[A-Za-z0-9.]{0,64}$`, "%q is not the ID of a GitHub App; it must be like 123456 or Iv23liAbCd")

	isRepository        = accepting(repositoryName, "%q is not a repository; it must be OWNER/NAME")
	isNoRepositoryOrOne = accepting(func(s string) bool { return s == "" || repositoryName(s) }, "%q is not a repository; it must be OWNER/NAME")
	isLabel             = accepting(labelName, "%q is not a label; GitHub accepts up to 50 characters")
	isBranch            = accepting(branchName, "%q is not a name that git accepts for a branch")
	isBranchPrefix      = accepting(branchPrefix, "%q is not what git accepts at the beginning of a branch name")

	repository = whenUsed(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}$`)
	shard      = whenUsed(`^[1-9][0-9]{0,2}/[1-9][0-9]{0,2}$`)
)

// accepting is a check that refuses other texts with a message.
func accepting(accepted func(string) bool, message string) func(string) error {
	return func(s string) error {
		if !accepted(s) {
			return fmt.Errorf(message, s)
		}
		return nil
	}
}

// matching is a check by a pattern.
func matching(pattern, message string) func(string) error {
	matches := whenUsed(pattern)
	return accepting(func(s string) bool { return matches().MatchString(s) }, message)
}

func hostName(s string) bool { _, err := svchost.ForComparison(s); return err == nil }

func repositoryName(s string) bool {
	_, name, _ := strings.Cut(s, "/")
	return repository().MatchString(s) && name != "." && name != ".."
}

func labelName(s string) bool { return strings.TrimSpace(s) != "" && len(s) <= 50 }

func branchName(s string) bool { return refName(s) && !strings.HasSuffix(s, "/") }

func branchPrefix(s string) bool { return s != "" && refName(strings.TrimSuffix(s, "/")) }

// whenUsed is a pattern that is compiled at its first use. A pattern with counts takes a
// hundred kilobytes and more, and few runs use any.
func whenUsed(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

func parseShard(s string) (Shard, error) {
	number, of, _ := strings.Cut(s, "/")
	i, _ := strconv.Atoi(number)
	n, _ := strconv.Atoi(of)
	if !shard().MatchString(s) || i > n {
		return Shard{}, fmt.Errorf("%q is no shard; it must be like 3/8, and from 1/8 to 8/8", s)
	}
	return Shard{i, n}, nil
}

// isPrivateKey never repeats what it refuses.
func isPrivateKey(s string) error {
	if block, _ := pem.Decode([]byte(s)); s != "" && block == nil {
		return errors.New("the text is not a private key in PEM form, which begins with -----BEGIN")
	}
	return nil
}

// refName reports whether git takes the name for a branch, by the rules of
// git-check-ref-format.
func refName(s string) bool {
	if s == "" || s == "@" || strings.HasPrefix(s, "-") || strings.HasSuffix(s, ".") ||
		strings.Contains(s, "..") || strings.Contains(s, "@{") ||
		strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }) {
		return false
	}
	for element := range strings.SplitSeq(s, "/") {
		if element == "" || strings.HasPrefix(element, ".") || strings.HasSuffix(element, ".lock") {
			return false
		}
	}
	return true
}

// units are what sizes are written in.
var units = map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1e3, "MB": 1e6, "GB": 1e9}

// parseSize reads a number of bytes, like 500MiB.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "BGKMik")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, known := units[text[len(digits):]]
	if err != nil || !known || n < 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is not a size; it must be like 500MiB or 2GiB", text)
	}
	return n * unit, nil
}

// lessSevere reports whether the second severity of a code is less severe.
func lessSevere(given, own Item) bool {
	return must(problem.ParseSeverity(own.Text)) > must(problem.ParseSeverity(given.Text))
}

// addSeverity adds the severity of a code. It takes any code; Sources.Sound refuses unknown
// ones.
func addSeverity(to *map[problem.Code]problem.Severity, item Item) error {
	severity, err := problem.ParseSeverity(item.Text)
	if err != nil {
		return fmt.Errorf("%s: %w", item.Name, err)
	}
	put(to, problem.Code(item.Name), severity)
	return nil
}

// addChosenSeverity reads CODE=SEVERITY.
func addChosenSeverity(to *map[problem.Code]problem.Severity, item Item) error {
	code, severity, _ := strings.Cut(item.Text, "=")
	return addSeverity(to, Item{Name: code, Text: severity})
}

// keyword reports whether the value of a Platforms setting is auto or all.
func keyword(items []Item) bool {
	return len(items) == 1 && (items[0].Text == "auto" || items[0].Text == "all")
}

// parseTool reads the tool that is named, if one is.
func parseTool(s string) (provider.ToolName, error) {
	if s == "auto" {
		return "", nil
	}
	return provider.ToolName(s), nil
}

func parseInstallation(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
