package settings

import (
	"strconv"

	"github.com/relock-dev/relock/internal/provider"
)

// taker reads the items of a row, each once, and puts what they say into the row's
// field of a target: a *Settings, or what a record becomes. Without a target it only
// checks. An error comes with the index of the item that is refused.
type taker func(target any, items []Item) (bad int, err error)

// asOne reads the only item of a row.
func asOne[C, T any](parse func(string) (T, error), field func(*C) *T) taker {
	return func(target any, items []Item) (int, error) {
		value, err := parse(items[0].Text)
		if err == nil && target != nil {
			*field(target.(*C)) = value
		}
		return 0, err
	}
}

// asEach reads every item of a row.
func asEach[C, T any](parse func(string) (T, error), field func(*C) *[]T) taker {
	return func(target any, items []Item) (int, error) {
		var values []T
		for i, item := range items {
			value, err := parse(item.Text)
			if err != nil {
				return i, err
			}
			values = append(values, value)
		}
		if target != nil {
			*field(target.(*C)) = values
		}
		return 0, nil
	}
}

// asSaid reads an item that says something only if it is not empty.
func asSaid[C, T any](parse func(string) (T, error), field func(*C) **T) taker {
	return func(target any, items []Item) (int, error) {
		value, err := parse(items[0].Text)
		if err == nil && target != nil && items[0].Text != "" {
			*field(target.(*C)) = &value
		}
		return 0, err
	}
}

// asWhole reads every item into a value that all of them make.
func asWhole[C, T any](add func(*T, Item) error, field func(*C) *T) taker {
	return func(target any, items []Item) (int, error) {
		var value T
		for i, item := range items {
			if err := add(&value, item); err != nil {
				return i, err
			}
		}
		if target != nil {
			*field(target.(*C)) = value
		}
		return 0, nil
	}
}

// asWord sets a field if the item is a word, and never takes it back: two rows may
// say the same.
func asWord[C any](word string, field func(*C) *bool) taker {
	return func(target any, items []Item) (int, error) {
		if target != nil && items[0].Text == word {
			*field(target.(*C)) = true
		}
		return 0, nil
	}
}

// asText is the text of a row.
func asText[C any](field func(*C) *string) taker { return asOne(textOf[string], field) }
func asBool[C any](field func(*C) *bool) taker   { return asOne(truth, field) }
func asNumber[C any](field func(*C) *int) taker  { return asOne(strconv.Atoi, field) }
func asPatterns[C any](field func(*C) *[]provider.Pattern) taker {
	return asEach(provider.ParsePattern, field)
}

// asTexts is the texts of a row, which must pass a check.
func asTexts[C any](check func(string) error, field func(*C) *[]string) taker {
	return func(target any, items []Item) (int, error) {
		var texts []string
		for i, item := range items {
			if err := check(item.Text); err != nil {
				return i, err
			}
			texts = append(texts, item.Text)
		}
		if target != nil {
			*field(target.(*C)) = texts
		}
		return 0, nil
	}
}

// anyText is the check of texts that may be any.
func anyText(string) error { return nil }

// asGiven reads a text as it is, if it passes a check.
func asGiven(check func(string) error) func(string) (string, error) {
	return func(s string) (string, error) { return s, check(s) }
}

// textOf reads one of the words that a row admits.
func textOf[T ~string](s string) (T, error) { return T(s), nil }

// wordsOf are words as texts.
func wordsOf[T ~string](words ...T) []string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return texts
}

func truth(s string) (bool, error) { return s == "true", nil }

// optional reads nothing of an empty text.
func optional[T any](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (value T, err error) {
		if s == "" {
			return value, nil
		}
		return parse(s)
	}
}

// parseTool reads the tool that is named, if one is.
func parseTool(s string) (provider.ToolName, error) {
	if s == "auto" {
		return "", nil
	}
	return provider.ToolName(s), nil
}

// parseSummary reads whether only counts are shown; auto leaves it open.
func parseSummary(s string) (*bool, error) {
	yes := s == "true"
	if s == "auto" {
		return nil, nil
	}
	return &yes, nil
}

func parseInstallation(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
