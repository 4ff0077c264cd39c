package provider

import (
	"encoding/json"
	"testing"
	"time"
)

func TestDay(t *testing.T) {
	t.Parallel()
	late := time.Date(2026, 11, 22, 23, 30, 0, 0, time.FixedZone("behind", -3600))
	for want, at := range map[string]time.Time{`"2026-11-23"`: late, "null": {}} {
		text, err := json.Marshal(Day(at))
		if err != nil || string(text) != want {
			t.Errorf("%v is %s, %v, want %s", at, text, err, want)
		}
	}
}
