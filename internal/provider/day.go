package provider

import (
	"encoding/json"
	"time"
)

// Day is the day of a time in UTC, such as the date of a release. JSON has it as
// 2026-11-23, and null for an unknown time.
type Day time.Time

// String returns the day; empty if the time is unknown.
func (d Day) String() string {
	if time.Time(d).IsZero() {
		return ""
	}
	return time.Time(d).UTC().Format(time.DateOnly)
}

// MarshalJSON implements json.Marshaler.
func (d Day) MarshalJSON() ([]byte, error) {
	if time.Time(d).IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(d.String())
}
