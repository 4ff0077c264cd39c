package comment

import (
	"cmp"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/moduleaddr"
	"github.com/relock-dev/relock/internal/policy"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/typed"
)

// prefix begins a command. It is no mention: @relock would notify a stranger.
const prefix = "/relock"

// The bounds of a command; a comment may have 64 KiB.
const (
	maxLine  = 4 << 10 // bytes
	maxWords = 100
)

// Most is the number of commands of a comment that are carried out.
const Most = 10

// Command is a parsed line of a comment.
type Command struct {
	Verb Verb
	// Dirs are directories as on the command line, relative to the top of the
	// repository; DIR/... for a search. None leads out of it.
	Dirs      []string
	Providers []provider.Pattern
	Platforms []provider.Platform
	// Modules are patterns of locked modules.
	Modules []string
	// SHA is what the commit that the command is about begins with; empty: any.
	SHA string
	// Group is the name of the group that Reopen on relock's issue is about.
	Group string
	// Ignored is what Ignore and Unignore are about, without who says it and when.
	Ignored policy.Ignore
}

// Commands returns the lines of a comment that are commands, valid or not. A line that is
// only quoted, in a reply or a code block, is none.
func Commands(text string) []string {
	if !strings.Contains(text, prefix) {
		return nil
	}
	return collect.Those(safe.Lines(text), func(line string) bool {
		rest, ok := strings.CutPrefix(line, prefix)
		r, size := utf8.DecodeRuneInString(rest)
		return ok && (size == 0 || separates(r))
	})
}

// separates holds for what may follow the prefix: white space, also without a break, and a
// colon.
func separates(r rune) bool { return r == ':' || unicode.IsSpace(r) }

// Parse reads a line of Commands, of a comment under something. Its errors are each a
// *Refusal, in words of ours alone.
func Parse(line string, under Thread) (Command, error) {
	if len(line) > maxLine || !utf8.ValidString(line) || strings.ContainsFunc(line, unprintable) {
		return Command{}, Refuse(safe.Const("the command is too long, or holds characters that cannot be seen"))
	}
	words, err := split(strings.TrimPrefix(strings.TrimPrefix(line, prefix), ":"))
	if err != nil {
		return Command{}, err
	}
	if len(words) == 0 {
		return Command{Verb: Help}, nil
	}
	u, ok := usageOf(Verb(words[0]), under)
	if !ok {
		return Command{}, unknown(words[0])
	}
	if u.Where&under == 0 {
		return Command{}, u.elsewhere()
	}
	c, err := u.read(words[1:])
	var no *Refusal
	if errors.As(err, &no) {
		return Command{}, Refuse(no.Why.And("; it is %s", u.code()))
	}
	return c, err
}

// unprintable holds for control characters and those that change how a line is
// seen, such as the direction of writing. Tabs separate words.
func unprintable(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
}

// unknown suggests the verb that was probably meant.
func unknown(word string) error {
	no := &Refusal{Why: safe.Const("there is no such command"), NoVerb: true}
	if near := typed.Nearest(word, collect.Mapped(Verbs, func(u Usage) string { return string(u.Verb) })); near != "" {
		no.Why = no.Why.And("; did you mean %s?", safe.Code(prefix+" "+near))
	}
	return no
}

// split cuts a line into words at white space. Quotation marks of either kind
// hold a word together, as for a directory with a space in its name. A long dash
// at the beginning of a word is two hyphens: phones write it. Nothing else has a
// meaning.
func split(line string) ([]string, error) {
	var words []string
	for rest := strings.TrimLeftFunc(line, unicode.IsSpace); rest != ""; {
		if after, long := cutDash(rest); long {
			rest = "--" + after
		}
		word, after, err := next(rest)
		if err != nil {
			return nil, err
		}
		rest = strings.TrimLeftFunc(after, unicode.IsSpace)
		words = append(words, word)
		if len(words) > maxWords {
			return nil, Refuse(safe.Format("the command has more than %s words", safe.Int(maxWords)))
		}
	}
	return words, nil
}

// cutDash takes a long dash, of either kind, off a word.
func cutDash(word string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(word, "–")
	if !ok {
		rest, ok = strings.CutPrefix(word, "—")
	}
	return rest, ok
}

// next takes the first word off a line that does not begin with white space.
func next(line string) (word, rest string, err error) {
	var b strings.Builder
	for line != "" {
		c, size := utf8.DecodeRuneInString(line)
		switch {
		case unicode.IsSpace(c):
			return b.String(), line, nil
		case c == '"' || c == '\'':
			quoted, after, closed := strings.Cut(line[1:], string(c))
			if !closed {
				return "", "", Refuse(safe.Const("a quotation mark is not closed"))
			}
			b.WriteString(quoted)
			line = after
		default:
			b.WriteString(line[:size])
			line = line[size:]
		}
	}
	return b.String(), "", nil
}

// read turns the words behind a verb into a command.
func (u Usage) read(words []string) (Command, error) {
	c := Command{Verb: u.Verb}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var providers, platforms []string
	if u.providers == byFlag {
		flags.StringArrayVar(&providers, "provider", nil, "")
	}
	if u.modules {
		flags.StringArrayVar(&c.Modules, "module", nil, "")
	}
	if u.platforms {
		flags.StringArrayVar(&platforms, "platform", nil, "")
	}
	if u.Pushes || u.dirs {
		flags.StringVar(&c.SHA, "sha", "", "")
	}
	if err := flags.Parse(words); err != nil {
		return c, Refuse(safe.Const("a flag is unknown, or lacks its value"))
	}
	args := flags.Args()
	if u.providers == asFirstWord {
		if len(args) == 0 {
			return c, Refuse(safe.Const("the provider is missing"))
		}
		providers, args = args[:1], args[1:]
	}
	if u.Verb == Why {
		providers[0] = moduleaddr.End(providers[0])
	} else if u.providers == asFirstWord && policy.IsModule(providers[0]) {
		c.Modules = providers
	}
	if slices.ContainsFunc(c.Modules, func(m string) bool { return !policy.IsModule(m) }) {
		return c, Refuse(safe.Const("a module must be named as in the lock file of modules, like git::https://example.com/* or */acme/vpc/aws"))
	}
	var err error
	if u.providers != asFirstWord || len(c.Modules) == 0 {
		c.Providers, err = patterns(providers)
	}
	if err != nil {
		return c, err
	}
	c.Platforms, err = platformsOf(platforms)
	if err != nil {
		return c, err
	}
	if c.SHA != "" && !shaForm.MatchString(c.SHA) {
		return c, Refuse(safe.Const("--sha needs the beginning of a commit's id"))
	}
	switch {
	case u.Verb == Ignore:
		c.Ignored, err = policy.ParseIgnore(providers[0], args)
		if err != nil {
			err = Refuse(safe.Text(err.Error()))
		}
	case u.Verb == Unignore:
		c.Ignored, err = policy.ParseIgnore(providers[0], nil)
		err = cmp.Or(none(args), err)
	case u.group:
		c.Group, err = groupOf(args)
	case u.dirs:
		c.Dirs, err = directories(args)
	default:
		err = none(args)
	}
	return c, err
}

// shaForm is a prefix of a commit's id that is long enough to mean one.
var shaForm = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

func none(args []string) error {
	if len(args) > 0 {
		return Refuse(safe.Const("there are too many words"))
	}
	return nil
}

// longestGroup bounds the name of a group, in bytes.
const longestGroup = 400

// groupOf is the one word that names a group.
func groupOf(args []string) (string, error) {
	if len(args) == 0 || args[0] == "" {
		return "", Refuse(safe.Const("the group is missing"))
	}
	if len(args[0]) > longestGroup {
		return "", Refuse(safe.Const("no group has such a long name"))
	}
	return args[0], none(args[1:])
}

func patterns(words []string) ([]provider.Pattern, error) {
	var list []provider.Pattern
	for _, w := range words {
		p, err := provider.ParsePattern(w)
		if err != nil || !patternForm.MatchString(w) || utf8.RuneCountInString(w) > longestPattern {
			return nil, Refuse(safe.Const("a provider must be named like hashicorp/aws or */aws"))
		}
		list = append(list, p)
	}
	return list, nil
}

// patternForm is narrower than ParsePattern: what is kept of a command is shown
// again, in a pull request. Its length is longestPattern's matter, since a count
// in the expression compiles the tables of all letters that many times.
var patternForm = regexp.MustCompile(`^[\pL\pN*?._:/-]+$`)

// longestPattern bounds the pattern of a provider, in characters.
const longestPattern = 200

func platformsOf(words []string) ([]provider.Platform, error) {
	var list []provider.Platform
	for w := range strings.SplitSeq(strings.Join(words, ","), ",") {
		if w == "" {
			continue
		}
		p, err := typed.KnownPlatform(w)
		if near := typed.NearPlatform(w); err != nil && near != "" {
			return nil, Refuse(safe.Format("providers are not built for this platform; did you mean %s?", safe.Code(near)))
		}
		if err != nil {
			return nil, Refuse(safe.Const("a platform must be one that providers are built for, like linux_amd64"))
		}
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list, nil
}

// directories checks that no word leads out of the repository. That a link in
// it does not either is seen when the directory is read.
func directories(words []string) ([]string, error) {
	var dirs []string
	for _, w := range words {
		name, search := strings.CutSuffix(w, "...")
		clean := path.Clean(name)
		if name == "" || path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../") ||
			strings.ContainsAny(name, `\:`) || search && !strings.HasSuffix(name, "/") {
			return nil, Refuse(safe.Const("a directory must be relative to the top of the repository, and in it"))
		}
		if search {
			clean += "/..."
		}
		if !slices.Contains(dirs, clean) {
			dirs = append(dirs, clean)
		}
	}
	return dirs, nil
}
